// Style sheets that a part of the page brings, loaded once, before it is shown.

/** @param {string} name  of a file beside this one */
export async function loadStyle(name) {
  const address = `/console/static/${name}`;
  if (document.querySelector(`link[href="${address}"]`)) return;
  const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: address });
  await new Promise((done, failed) => {
    Object.assign(link, { onload: done, onerror: failed });
    document.head.append(link);
  });
}
