// A pane that stays at its end while the reader is there, and stays put when they have scrolled back.

const NEAR_PX = 48;

/** The `mount` of a scrolling element; `onend(atEnd)` hears when the reader arrives at its end or leaves it. */
export const followEnd = (onend) => (pane) => {
  let atEnd = true;
  const toEnd = () => atEnd && pane.scrollTo({ top: pane.scrollHeight, behavior: 'instant' });
  const look = () => {
    const now = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR_PX;
    if (now === atEnd) return;
    atEnd = now;
    onend(atEnd);
  };
  const changes = new MutationObserver(toEnd);
  const sizes = new ResizeObserver(toEnd);
  pane.addEventListener('scroll', look, { passive: true });
  changes.observe(pane, { childList: true, subtree: true, characterData: true });
  sizes.observe(pane);
  requestAnimationFrame(toEnd);
  return () => {
    changes.disconnect();
    sizes.disconnect();
  };
};

export const scrollToEnd = (pane) => pane?.scrollTo({ top: pane.scrollHeight, behavior: 'smooth' });
