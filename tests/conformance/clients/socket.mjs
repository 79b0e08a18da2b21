// One WebSocket for graphql-ws itself and for the clients that ride on it.
import { createClient } from 'graphql-ws';
import WebSocket from 'ws'; // only for Node before 22
import { pause, resume } from './resume.mjs';
import { AUTHORIZATION, SOCKET_URL } from './story.mjs';

export const socket = resume(
  createClient({
    url: SOCKET_URL,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: AUTHORIZATION },
    retryAttempts: Infinity,
    retryWait: pause,
    shouldRetry: () => true, // also when no connection comes about
  }),
);
