// A file made of what was read, saved where the browser saves files.

/** The blob's address lives only until the browser has taken it. */
export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement('a'), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
