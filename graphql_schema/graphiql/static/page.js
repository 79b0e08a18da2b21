// Mounts GraphiQL on this page's own address and gives every request the API key of the box above it.
/* global GraphiQL, React, ReactDOM, graphqlWs */
"use strict";

const KEY = "parley.api-key"; // sessionStorage: this tab only, gone when it closes
const KEY_REFUSED = 4403; // graphql-ws would retry this close code; the same key would be refused again
const box = document.getElementById("key");
const state = document.getElementById("key-state");
const welcome = document.getElementById("welcome").content.textContent;
let socket;

function bearer(key) {
  return key ? { Authorization: `Bearer ${key}` } : {};
}

function connect(key) {
  socket?.dispose();
  socket = graphqlWs.createClient({
    url: location.origin.replace(/^http/, "ws") + location.pathname,
    connectionParams: bearer(key),
    shouldRetry: (problem) => problem instanceof CloseEvent && problem.code !== KEY_REFUSED,
  });
  return GraphiQL.createFetcher({
    url: location.pathname,
    headers: { Accept: "application/graphql-response+json, application/json;q=0.9", ...bearer(key) },
    enableIncrementalDelivery: false,
    wsClient: socket,
  });
}

function show(key) {
  box.value = key;
  state.textContent = key ? "Kept in this tab until it closes." : "No key: paste one to load the schema.";
  const properties = { fetcher: connect(key), defaultQuery: welcome, shouldPersistHeaders: false };
  ReactDOM.render(React.createElement(GraphiQL, properties), document.getElementById("graphiql"));
}

function use(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
  show(key);
}

document.getElementById("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  use(box.value.trim());
});
document.getElementById("forget").addEventListener("click", () => use(""));
show(sessionStorage.getItem(KEY) ?? "");
