// What a person may do with a task: run it again, give it to somebody else, stop it. Each asks once, with a reason.

import { mutation } from '../../api.js';
import { actionDialog, agentChoices, button, field, openDialog } from '../../parts.js';

const PAYLOAD = 'TaskPayload { task { id status } }';
const RETRY = mutation('retryTask', 'RetryTaskInput', PAYLOAD);
const REASSIGN = mutation('reassignTask', 'ReassignTaskInput', PAYLOAD);
const CANCEL = mutation('cancelTask', 'CancelTaskInput', PAYLOAD);
const OPEN = new Set(['PENDING', 'IN_PROGRESS']);

const mayRetry = (task) => ['FAILED', 'TIMED_OUT', 'CANCELLED'].includes(task.status) || (task.status === 'PENDING' && task.attemptsMade > 0 && !task.waitingFor);

export function actions(task, page) {
  const open = OPEN.has(task.status);
  return [
    page.can('CONTROL_TASKS') && mayRetry(task) && button('Retry', () => openDialog(page, 'retry')),
    page.can('CONTROL_TASKS') && open && button('Reassign', () => openDialog(page, 'reassign')),
    page.can('CANCEL_TASKS') && open && button('Cancel', () => openDialog(page, 'cancel'), { kind: 'danger' }),
  ].filter(Boolean);
}

const reason = (problem) => field({ label: 'Why', name: 'reason', maxlength: 500, hint: 'Kept in the event log.', error: problem('reason') });

export function dialogs(data, page) {
  const { task } = data;
  const input = (values) => ({ taskId: task.id, reason: values.reason, ...(values.assigneeId ? { assigneeId: values.assigneeId } : {}) });
  switch (page.state.dialog?.name) {
    case 'retry':
      return actionDialog(page, { title: 'Run it again?', lead: 'It starts anew with what is left of its budget.', submit: 'Retry', change: RETRY, input, done: 'It runs again' }, (problem) => [reason(problem)]);
    case 'cancel':
      return actionDialog(page, { title: 'Cancel the task?', lead: 'All open work below it is cancelled, too. What was spent stays spent.', submit: 'Cancel the task', kind: 'danger', change: CANCEL, input, done: 'Cancelled' }, (problem) => [reason(problem)]);
    case 'reassign':
      return actionDialog(page, { title: 'Give it to another agent', lead: task.status === 'IN_PROGRESS' ? `${task.assignee.name} loses the claim at once.` : null, submit: 'Reassign', change: REASSIGN, input, done: 'Reassigned' }, (problem) => [
        field({ label: 'To', name: 'assigneeId', required: true, options: agentChoices(data, { without: [task.assignee.id] }), error: problem('assigneeId') }),
        reason(problem),
      ]);
    default:
      return null;
  }
}
