/** The views, in the order of the navigation. */
export const VIEWS = ['locks', 'waits', 'contention', 'losses', 'clients', 'server'] as const;
export type View = (typeof VIEWS)[number];

/** What the hash of the page's URL names. */
export type Route =
  | { readonly view: 'locks'; readonly text: string }
  | { readonly view: Exclude<View, 'locks'> }
  | { readonly view: 'lock'; readonly id: string };

/** Reads `#/locks?q=…`, `#/lock/ID` and `#/view`. Anything else is the list of locks. */
export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', id] = path.split('/', 2);
  if (view === 'lock' && id !== undefined && id !== '') return { view, id };
  if (view !== 'locks' && isView(view)) return { view };
  return { view: 'locks', text: new URLSearchParams(query).get('q') ?? '' };
}

export function locksHash(text: string): string {
  return text === '' ? '#/locks' : `#/locks?${new URLSearchParams({ q: text })}`;
}

export function lockHash(id: string): string {
  return `#/lock/${id}`;
}

function isView(text: string): text is Exclude<View, 'locks'> {
  return (VIEWS as readonly string[]).includes(text);
}
