// Every page, in the order of the navigation. A page is one module; see README.md beside this file.

import agent from './pages/agent.js';
import agents from './pages/agents.js';
import attention from './pages/attention.js';
import consultation from './pages/consultation.js';
import consultations from './pages/consultations.js';
import conversation from './pages/conversation.js';
import conversations from './pages/conversations.js';
import deadLetters from './pages/dead_letters.js';
import decision from './pages/decision.js';
import inbox from './pages/inbox.js';
import overview from './pages/overview.js';
import report from './pages/report.js';
import reports from './pages/reports.js';
import routing from './pages/routing.js';
import session from './pages/session.js';
import sessions from './pages/sessions.js';
import simulate from './pages/simulate.js';
import task from './pages/task.js';
import tasks from './pages/tasks.js';
import team from './pages/team.js';

export const pages = [
  overview,
  sessions, session,
  tasks, task,
  conversations, conversation,
  reports, report,
  attention, deadLetters,
  agents, agent,
  inbox,
  consultations, consultation,
  routing, decision,
  simulate,
  team,
];
