// Style sheets of parts that stand on more than one page.

/** Loads a style sheet, once. @param {string} name */
export async function styled(name) {
  const address = `/console/static/${name}`;
  if (document.querySelector(`link[href="${address}"]`)) return;
  const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: address });
  await new Promise((done, failed) => {
    Object.assign(link, { onload: done, onerror: failed });
    document.head.append(link);
  });
}
