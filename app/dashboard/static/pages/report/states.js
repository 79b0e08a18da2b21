// The colours of a report's states.

export const REPORT_TONES = { WORKING: 'busy', REPAIRING: 'wait', VALID: 'good', INVALID: 'bad', FAILED: 'bad' };
