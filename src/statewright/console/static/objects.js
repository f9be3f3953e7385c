// Objects: buckets, the folders of one, and one object with a preview.

import { html, useState } from './vendor.js';
import { act, call } from './api.js';
import { Confirm, useAction } from './dialogs.js';
import { Field, FormDialog } from './forms.js';
import { Icon } from './icons.js';
import { Facts, List, Part, Table, useLast } from './lists.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Instant, When, size } from './when.js';

const MOST_BYTES = 8_000_000;

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  if (route.id && route.query.key) return html`<${OneObject} key=${`${route.query.key} ${route.query.version ?? ''}`} route=${route} server=${server} />`;
  if (route.id) return html`<${Folder} route=${route} server=${server} />`;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('objects', row.name)}>${row.name}</a>` },
    { title: 'Versions', look: 'tight', cell: (/** @type {any} */ row) => (row.versioning === 'Off' ? html`<span class="faint">–</span>` : row.versioning.toLowerCase()) },
    { title: 'Region', look: 'tight', cell: (/** @type {any} */ row) => row.region },
    { title: 'Created', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.createdMs} />` },
  ];
  return html`<header class="head"><h1>Objects</h1></header><${List} route=${route} name="buckets" label="Buckets" columns=${columns} keyOf=${(/** @type {any} */ row) => row.name}
    empty=${html`<h2>No bucket yet</h2><p>Create one with any AWS SDK, or with <code>statewright aws s3 mb s3://reports</code>.</p>`} />`;
}

/** The way to a folder or object, as links. @param {{bucket: string, path: string}} props */
function Crumbs({ bucket, path }) {
  const steps = path.split('/').slice(0, -1);
  return html`<nav class="crumbs" aria-label="Folders"><a href=${format('objects')}>Objects</a><span>/</span><a href=${format('objects', bucket)}>${bucket}</a>${steps.map((step, place) => html`<span>/</span><a href=${format('objects', bucket, { prefix: `${steps.slice(0, place + 1).join('/')}/` })}><bdi>${step || '(empty)'}</bdi></a>`)}</nav>`;
}

/** @param {{route: import('./route.js').Route, server: any}} props */
function Folder({ route, server }) {
  const { prefix = '' } = route.query;
  const [isOpen, setOpen] = useState(false);
  const name = prefix.split('/').slice(-2)[0] || route.id;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${row.isFolder ? format('objects', route.id, { prefix: row.key }) : format('objects', route.id, { key: row.key })}><bdi>${row.name || '(no name)'}</bdi></a>` },
    { title: 'Size', look: 'end', cell: (/** @type {any} */ row) => (row.isFolder ? html`<span class="faint">folder</span>` : size(row.bytes)) },
    { title: 'Class', look: 'tight', cell: (/** @type {any} */ row) => (row.class ?? '').toLowerCase().replaceAll('_', ' ') },
    { title: 'Changed', look: 'tight', cell: (/** @type {any} */ row) => (row.isFolder ? '' : html`<${When} ms=${row.modifiedMs} />`) },
  ];
  return html`<header class="head"><${Crumbs} bucket=${route.id} path=${prefix} /><div class="title"><h1><bdi>${name}</bdi></h1>${server?.mayWrite ? html`<div class="actions"><button class="action" onClick=${() => setOpen(true)}>Upload</button></div>` : null}</div></header>
    <${List} route=${route} name="objects" label="Objects" columns=${columns} keyOf=${(/** @type {any} */ row) => row.key} extra=${{ bucket: route.id, prefix }} every=${5000} noun="the beginning of names"
      empty=${html`<h2>${prefix ? 'This folder is empty' : 'This bucket is empty'}</h2><p>Upload a file here, or with <code>statewright aws s3 cp FILE s3://${route.id}/${prefix}</code>.</p>`} />
    ${isOpen ? html`<${Upload} bucket=${route.id} prefix=${prefix} onClose=${() => setOpen(false)} />` : null}`;
}

/** @param {{bucket: string, prefix: string, onClose: () => void}} props */
function Upload({ bucket, prefix, onClose }) {
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [key, setKey] = useState(prefix);
  const [replaces, setReplaces] = useState(false);
  const isLong = Boolean(file && file.size > MOST_BYTES);
  const choose = (/** @type {any} */ event) => {
    const [chosen = null] = event.target.files;
    setFile(chosen);
    if (chosen && (key === prefix || !key)) setKey(prefix + chosen.name);
  };
  const put = async () => {
    if (!file) throw new Error('Choose a file.');
    try {
      await act('object/put', { bucket, key, data: await base64(file), type: file.type || 'application/octet-stream', replaces });
    } catch (problem) {
      if (/** @type {any} */ (problem).code === 'PreconditionFailed') throw new Error('There is an object with this key already.');
      throw problem;
    }
    go(format('objects', bucket, { key }));
  };
  return html`<${FormDialog} title=${`Upload to ${bucket}`} verb="Upload" isReady=${Boolean(file && key && !isLong)} onSubmit=${put} onClose=${onClose}>
    <label>File<input type="file" onChange=${choose} /></label>${isLong ? html`<p class="fail">Here files of up to 8 MB are uploaded. Use <code>statewright aws s3 cp</code>.</p>` : null}
    <${Field} label="Key" value=${key} onInput=${setKey} needed />
    <label class="cat-check"><input type="checkbox" checked=${replaces} onChange=${(/** @type {any} */ event) => setReplaces(event.target.checked)} /> Replace an object with this key</label><//>`;
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => failed(new Error('The file cannot be read.'));
    reader.readAsDataURL(file);
  });
}

/** @param {{route: import('./route.js').Route, server: any}} props */
function OneObject({ route, server }) {
  const { key, version = '' } = route.query;
  const bucket = route.id;
  const { found, problem, again } = useRead('object', { bucket, key, version });
  const versions = useLast('object/versions', { bucket, key }, 0);
  const [isAsking, setAsking] = useState(false);
  const { isBusy, problem: trouble, run } = useAction();
  const name = key.split('/').pop() || key;
  const download = () => run(async () => {
    const { path } = await act('object/link', { bucket, key, version, host: location.host });
    const link = Object.assign(document.createElement('a'), { href: path, download: name });
    document.body.append(link);
    link.click();
    link.remove();
  });
  const rows = versions.found?.rows ?? [];
  const hasVersions = rows.length > 1 || rows.some((/** @type {any} */ row) => row.version !== 'null');
  const columns = [
    { title: 'Version', look: 'name', cell: (/** @type {any} */ row) => (row.isMarker ? html`<code>${row.version}</code>` : html`<a href=${format('objects', bucket, { key, version: row.version })}><code>${row.version}</code></a>`) },
    { title: '', look: 'tight', cell: (/** @type {any} */ row) => html`${row.isMarker ? html`<span class="badge t-idle">delete marker</span> ` : null}${row.isLatest ? html`<span class="badge t-accent">latest</span>` : null}` },
    { title: 'Size', look: 'end', cell: (/** @type {any} */ row) => (row.isMarker ? '' : size(row.bytes)) },
    { title: 'Changed', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.modifiedMs} />` },
  ];
  return html`<header class="head"><${Crumbs} bucket=${bucket} path=${key} /><div class="title"><h1><bdi>${name}</bdi></h1>${found ? html`<div class="actions"><button class="action" disabled=${isBusy} onClick=${download}>Download</button>
      ${server?.mayWrite ? html`<button class="action" onClick=${() => setAsking(true)}>${version ? 'Delete version' : 'Delete'}</button>` : null}</div>` : null}</div>
    ${found ? html`<${Facts} facts=${[['Size', size(found.bytes)], ['Type', found.type], ['Changed', html`<${Instant} ms=${found.modifiedMs} />`], ['ETag', html`<code>${found.etag}</code>`], ['Class', found.class], ['Encoding', found.encoding], ['Version', version ? html`<code>${version}</code>` : null]]} />` : null}</header>
    ${trouble ? html`<p class="banner fail" role="alert">${trouble.message}</p>` : null}
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${found ? html`<${Part} title="Preview"><div class="card"><${Preview} of=${found.preview} /></div><//>
      <div class="cat-two"><${Pairs} title="Metadata" of=${found.metadata} /><${Pairs} title="Tags" of=${found.tags} /></div>` : problem ? null : html`<p class="faint">Reading…</p>`}
    ${hasVersions ? html`<${Part} title="Versions"><${Table} label="Versions" rows=${rows} columns=${columns} keyOf=${(/** @type {any} */ row) => row.version} /><//>` : null}
    ${isAsking ? html`<${Confirm} title=${version ? 'Delete this version?' : 'Delete this object?'} typed=${name.slice(0, 60)} verb="Delete" onClose=${() => setAsking(false)}
      words=${version ? 'The version is gone for good.' : hasVersions ? 'A delete marker hides it; its versions stay.' : 'The object is gone for good.'}
      onConfirm=${async () => { await call('s3', 'DeleteObject', { Bucket: bucket, Key: key, ...(version ? { VersionId: version } : {}) }); go(format('objects', bucket, { prefix: key.slice(0, key.lastIndexOf('/') + 1) })); }} />` : null}`;
}

/** @param {{of: any}} props */
function Preview({ of }) {
  if (of.kind === 'image') return html`<img class="cat-preview" alt="The picture" src=${`data:${of.type};base64,${of.data}`} />`;
  if (of.kind === 'text') return html`<pre class="cat-text" tabindex="0" aria-label="Preview">${of.text}</pre>${of.isWhole ? null : html`<p class="pad faint">Only the first 200 KB are shown.</p>`}`;
  return html`<p class="pad faint"><${Icon} name="bucket" /> ${of.reason}</p>`;
}

/** @param {{title: string, of: Record<string, string>}} props */
function Pairs({ title, of }) {
  const pairs = Object.entries(of);
  return html`<${Part} title=${title}><div class="card">${pairs.length ? html`<ul class="cat-plainlist">${pairs.map(([name, value]) => html`<li><span class="faint"><bdi>${name}</bdi></span> <bdi>${value}</bdi></li>`)}</ul>` : html`<p class="pad faint">None</p>`}</div><//>`;
}
