"""What Prometheus is told. Labels have few values by construction: never an id, a key, an address or a query."""

from __future__ import annotations

import time
from functools import cache

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

REQUESTS = Counter(
    "parley_requests_total", "Operations answered.", ["transport", "operation", "outcome"]
)  # outcome: ok, refused, failed
LATENCY = Histogram(
    "parley_request_seconds", "Time from request to answer.", ["transport", "operation"], buckets=_SECONDS
)
REFUSALS = Counter("parley_refusals_total", "Requests refused before execution, by error code.", ["code"])
RATE_LIMITED = Counter("parley_rate_limited_total", "Requests refused because their key spent its points.")
AUTH_FAILURES = Counter("parley_auth_failures_total", "Authentications that failed, by reason.", ["reason"])
CONNECTIONS = Gauge("parley_open_connections", "WebSockets, event streams and exports open now.", ["transport"])
EXPORTED_ROWS = Counter("parley_exported_rows_total", "Rows sent by exports.", ["format"])
EVENT_LAG = Histogram(
    "parley_event_lag_seconds", "From the begin of a change to its event's delivery here.", buckets=_SECONDS
)
WAKE_UP_RECONNECTS = Counter("parley_wake_up_reconnects_total", "Times that a wake-up connection had to be rebuilt.")
DISPATCHES_LOST = Counter(
    "parley_dispatches_lost_total", "Deliveries to Redis after a commit that failed; polling and the sweeper cover."
)
SUBSCRIBERS = Gauge("parley_subscribers", "Subscriptions open now, by what they do.", ["state"])  # live, replaying
STREAMS = Gauge("parley_streams", "Distinct subscriptions open now: each is executed once per event.")
SOCKETS_ABORTED = Counter("parley_sockets_aborted_total", "Sockets aborted because their client took nothing.")
CONNECTIONS_REFUSED = Counter(
    "parley_connections_refused_total", "Connections closed because they were too many or too slow.", ["reason"]
)
TASKS_RUNNING = Gauge("parley_tasks_running", "Tasks that this worker runs now.")
TASK_WAIT = Histogram("parley_task_wait_seconds", "From a task being ready to its start here.", buckets=_SECONDS)
FOLLOW_UP_FAILURES = Counter(
    "parley_follow_up_failures_total", "Follow-up jobs that failed and will be retried, by kind.", ["kind"]
)
QUEUE_DEPTH = Gauge(
    "parley_queue_depth", "Jobs that are due and wait for a worker, by sort.", ["job"]
)  # task, follow_up
QUEUE_OLDEST = Gauge("parley_queue_oldest_due_seconds", "How long the oldest due job has waited, by sort.", ["job"])
QUEUE_DEGRADED = Gauge(
    "parley_queue_degraded", "1 while Redis takes no jobs and this worker's sweeper runs them itself, else 0."
)
QUEUE_REPAIRED = Counter("parley_queue_repaired_total", "Due jobs that were missing in Redis and were enqueued again.")
TASKS_RETRIED = Counter("parley_tasks_retried_total", "Attempts that failed and will be retried.")
TASKS_DEAD = Counter("parley_tasks_dead_total", "Tasks that failed for good and became dead letters.")
DELIVERIES = Counter("parley_deliveries_total", "Events delivered to subscribers.")
MODEL_RUNS = Counter(
    "parley_model_runs_total", "Runs of managed agents.", ["provider", "outcome"]
)  # outcome: answered, retry, wait, final, stopped
MODEL_TOKENS = Counter("parley_model_tokens_total", "Tokens sent to models and answered by them.", ["provider"])
MODEL_UNPRICED = Counter("parley_model_unpriced_total", "Responses of models whose price is not known.")


def record(transport: str, operation: str, outcome: str, seconds: float | None) -> None:
    requests, latency = _labelled(transport, operation, outcome)
    requests.inc()
    if seconds is not None:
        latency.observe(seconds)


@cache
def _labelled(transport: str, operation: str, outcome: str) -> tuple[Counter, Histogram]:
    """prometheus-client looks its labels up under a lock each time; there are a few dozen combinations in all."""
    return REQUESTS.labels(transport, operation, outcome), LATENCY.labels(transport, operation)


class LatestMetrics:
    """Renders the metrics at most once in FRESH_SECONDS. Anyone who reaches the port may ask, as often as they like."""

    FRESH_SECONDS = 1.0

    def __init__(self) -> None:
        self._body, self._rendered_at = b"", float("-inf")

    def body(self, now: float) -> bytes:
        if now - self._rendered_at >= self.FRESH_SECONDS:
            self._body, self._rendered_at = generate_latest(), now
        return self._body


def routes() -> list[Route]:
    latest = LatestMetrics()

    async def serve(request: Request) -> Response:
        return Response(latest.body(time.monotonic()), media_type=CONTENT_TYPE_LATEST)

    return [Route("/metrics", serve)]
