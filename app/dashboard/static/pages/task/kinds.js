// The kinds of tasks, as the API names them.

export const STATUSES = ['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];
export const TYPES = ['ANALYZE', 'EXECUTE', 'GENERATE', 'PLAN', 'RESEARCH', 'REVIEW', 'SUMMARIZE', 'VALIDATE'];
export const PRIORITIES = ['URGENT', 'HIGH', 'NORMAL', 'LOW'];
