// Runs a function once per animation frame, however often it is asked for: a burst of events is one redraw.

/** `leastMs` between two runs: what comes often is shown ten times a second, say, and the first at once. */
export function perFrame(run, leastMs = 0) {
  let waiting = false;
  let last = -Infinity;
  return () => {
    if (waiting) return;
    waiting = true;
    // No frame comes while the tab is hidden; nobody sees it, so a slow clock does.
    const frame = document.hidden ? (then) => setTimeout(then, 250) : requestAnimationFrame;
    const wait = last + leastMs - performance.now();
    const next = wait > 0 ? (then) => setTimeout(() => frame(then), wait) : frame;
    next(() => {
      waiting = false;
      last = performance.now();
      run();
    });
  };
}
