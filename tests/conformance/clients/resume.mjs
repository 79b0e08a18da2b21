// A client of graphql-ws or graphql-sse whose subscriptions go on behind the last item after a broken connection. Both
// send the same operation again when they retry, so the `after` inside it has to move along.
export function resume(client) {
  return {
    ...client,
    subscribe(operation, sink) {
      const variables = { ...operation.variables };
      const next = (result) => {
        for (const item of Object.values(result.data ?? {})) variables.after = item?.cursor ?? variables.after;
        sink.next(result);
      };
      return client.subscribe({ ...operation, variables }, { ...sink, next });
    },
  };
}

// Up to 0.1 s, then twice as long each time, to 10 s; at random, so that not all clients come back at once.
export const pause = (retries) =>
  new Promise((retry) => setTimeout(retry, Math.random() * Math.min(10_000, 100 * 2 ** retries)));
