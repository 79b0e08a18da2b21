// A client of graphql-ws or graphql-sse whose subscriptions go on from the last cursor after a broken connection. Both
// send the same operation again when they retry, so that the `after` inside it has to move along.
export function resume(client) {
  return {
    ...client,
    subscribe(operation, sink) {
      const variables = { ...operation.variables };
      return client.subscribe({ ...operation, variables }, {
        ...sink,
        next(result) {
          for (const item of Object.values(result.data ?? {})) if (item?.cursor) variables.after = item.cursor;
          sink.next(result);
        },
      });
    },
  };
}
