// Light, dark, or as the system says. A classic script in the head, so that no page flashes in the wrong one.
(() => {
  const stored = () => {
    try { return localStorage.getItem('parley.theme'); } catch { return null; }
  };
  const choice = stored();
  if (choice === 'light' || choice === 'dark') document.documentElement.dataset.theme = choice;
})();
