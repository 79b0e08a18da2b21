// The kinds of consultations, as the API names them.

export const STATUSES = ['PENDING', 'IN_PROGRESS', 'ESCALATED', 'COMPLETED', 'CLOSED'];
export const REASONS = ['DATA_STRUCTURE', 'SECURITY_REVIEW', 'API_CONTRACT', 'BUG_DEBUGGING', 'REQUIREMENTS', 'INFRASTRUCTURE', 'OTHER'];
export const URGENCIES = ['CRITICAL', 'HIGH', 'NORMAL', 'LOW'];
export const TONES = { PENDING: 'wait', IN_PROGRESS: 'busy', ESCALATED: 'bad', COMPLETED: 'good', CLOSED: 'calm' };
