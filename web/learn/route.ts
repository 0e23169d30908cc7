import { useEffect, useState } from 'preact/hooks';

/** What the part of the URL behind `#` names. */
export type Route =
  | {
      readonly view: 'recipe';
      readonly recipe: string;
      readonly variant: string | null;
      /** Null: the last step. */
      readonly step: number | null;
      /** Null: the run that the gallery shows. */
      readonly schedule: string | null;
    }
  | {
      readonly view: 'edit';
      readonly text: string | null;
      readonly world: readonly number[];
      readonly schedule: string;
      readonly step: number | null;
    }
  | { readonly view: 'tutorial'; readonly step: number }
  | { readonly view: 'start' };

/** Everything that cannot be read is the start. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view, ...parts] = path.split('/').map(decoded);
  const params = new URLSearchParams(query);
  if (view === 'recipe' && parts[0]) {
    const [recipe, variant, step] = parts;
    return {
      view,
      recipe,
      variant: variant || null,
      step: numberOf(step),
      schedule: params.get('schedule'),
    };
  }
  if (view === 'edit') {
    const world = (params.get('world') ?? '').split(',').map(Number);
    return {
      view,
      text: textOf(params.get('text')),
      world: world.every(Number.isInteger) && world.length === 5 ? world : [],
      schedule: params.get('schedule') ?? '',
      step: numberOf(params.get('step') ?? undefined),
    };
  }
  if (view === 'tutorial') return { view, step: numberOf(parts[0]) ?? 1 };
  return { view: 'start' };
}

export function routeHash(route: Route): string {
  switch (route.view) {
    case 'recipe': {
      const { recipe, variant, step, schedule } = route;
      const path = [recipe, variant, step].filter((part) => part !== null).join('/');
      return `#/recipe/${path}${schedule === null ? '' : `?schedule=${encodeURIComponent(schedule)}`}`;
    }
    case 'edit': {
      const params = new URLSearchParams();
      if (route.text !== null) params.set('text', base64Of(route.text));
      if (route.world.length > 0) params.set('world', route.world.join(','));
      if (route.schedule !== '') params.set('schedule', route.schedule);
      if (route.step !== null) params.set('step', String(route.step));
      return `#/edit?${params}`;
    }
    case 'tutorial':
      return `#/tutorial/${route.step}`;
    case 'start':
      return '#/';
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = (): void => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return route;
}

/** Replaces the URL, so that Back leaves a run instead of going through its steps. */
export function moveTo(route: Route): void {
  history.replaceState(null, '', routeHash(route));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) : null;
}

function base64Of(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}

function textOf(base64: string | null): string | null {
  if (base64 === null) return null;
  try {
    const chars = atob(base64.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(Uint8Array.from(chars, (char) => char.charCodeAt(0)));
  } catch {
    return null;
  }
}
