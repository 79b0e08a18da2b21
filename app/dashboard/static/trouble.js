// What went wrong, in words that say what happened and what to do next.

const NEXT = {
  UNAUTHENTICATED: 'Sign in again with a key that works.',
  FORBIDDEN: 'Ask an admin of the team for a key with more rights.',
  RATE_LIMITED: 'Wait a moment, then try again.',
  UNAVAILABLE: 'The server will be back; this page tries again by itself.',
  TIMEOUT: 'Try again, or ask for less at a time.',
  OFFLINE: 'Check the network. Nothing was lost: this page goes on where it was.',
  NOT_FOUND: 'It may have been removed, or belong to another team. Go back to the list.',
  CONFLICT: 'Somebody was faster. Look at the present state, then decide again.',
  ALREADY_ANSWERED: 'Somebody else answered first; their answer counts.',
  FEATURE_DISABLED: 'An admin can turn it on under Team, Features.',
  AGENT_UNAVAILABLE: 'Choose another agent, or resume this one.',
  BUDGET_EXHAUSTED: 'Raise the budget under Team, or ask for less.',
  IDEMPOTENCY_CONFLICT: 'Reload the page and try again.',
  PARTICIPANTS_UNSUITABLE: 'Choose other agents or roles.',
  INVALID_INPUT: 'Correct the marked fields.',
  INTERNAL: 'This is a bug of Parley. Tell its maintainers the error id.',
};

/** An error to show: `message` says what happened, `next` what to do, `problems` which fields are wrong. */
export class Trouble extends Error {
  constructor(code, message, { problems = [], retryAfterS = 0, details = {} } = {}) {
    super(message);
    this.name = 'Trouble';
    this.code = code;
    this.problems = problems;
    this.retryAfterS = retryAfterS;
    this.details = details;
  }

  get next() {
    return NEXT[this.code] ?? '';
  }

  /** What is wrong with one field of an input; undefined when nothing is. */
  problem(path) {
    return this.problems.find((problem) => problem.path === path || problem.path.startsWith(`${path}.`))?.message;
  }

  static of(error) {
    return error instanceof Trouble ? error : new Trouble('UNEXPECTED', String(error?.message ?? error));
  }
}

/** From the `errors` of a GraphQL answer. */
export function fromErrors(errors) {
  const [first] = errors;
  const { code = 'UNEXPECTED', problems, errorId, ...details } = first.extensions ?? {};
  const message = errorId ? `${first.message} (error id ${errorId})` : first.message;
  return new Trouble(code, message, { problems, details });
}
