/** The parts of the DOM that the page's script uses. The project compiles without the DOM types. */
interface PageElement {
  hidden: boolean;
  value: string;
  readonly max: string;
  textContent: string;
  readonly dataset: {
    readonly language?: string;
    readonly en?: string;
    readonly zh?: string;
    readonly document?: string;
    readonly verdict?: string;
    /** Of a filter button: the field that it filters by, and the wanted value. */
    readonly field?: 'document' | 'verdict';
    readonly value?: string;
  };
  readonly classList: { toggle(name: string, isOn: boolean): void; add(name: string): void };
  lang: string;
  open: boolean;
  setAttribute(name: string, value: string): void;
  addEventListener(event: string, listener: (event: PageKey) => void): void;
  focus(): void;
  querySelector(selector: string): PageElement;
  querySelectorAll(selector: string): Iterable<PageElement>;
  scrollIntoView(options: { block: 'nearest' }): void;
}

/** The parts of a keyboard event that the script uses. */
interface PageKey {
  readonly key: string;
  preventDefault(): void;
}

declare const document: PageElement & {
  readonly documentElement: PageElement;
  getElementById(id: string): PageElement | null;
};
declare const window: { addEventListener(event: string, listener: () => void): void };
declare const location: { readonly hash: string };
declare const localStorage: {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
};
declare const navigator: { readonly language: string };
declare const matchMedia: (query: string) => { readonly matches: boolean };

/**
 * The page's script. The page contains the source of this function, so the function must not use anything
 * from outside of it.
 */
export function startPage(): void {
  const root = document.documentElement;
  const listeners: (() => void)[] = [];

  function setLanguage(language: string): void {
    root.lang = language === 'zh' ? 'zh-CN' : 'en';
    for (const button of document.querySelectorAll('[data-language]')) {
      button.setAttribute('aria-pressed', String(button.dataset.language === language));
    }
    for (const listener of listeners) listener();
  }

  /** Reads the saved language. localStorage may throw for a page that was opened from a file. */
  function remembered(): string | null {
    try {
      return localStorage.getItem('language');
    } catch {
      return null;
    }
  }

  function remember(language: string): void {
    try {
      localStorage.setItem('language', language);
    } catch {
      // The choice is not saved; the page works without it.
    }
  }

  function startRun(figure: PageElement): void {
    const slider = figure.querySelector('input');
    const output = figure.querySelector('output');
    const rows = [...figure.querySelectorAll('.step')];
    const moments = [...figure.querySelectorAll('.moment')];
    const violation = figure.querySelector('.violation');

    function show(): void {
      const step = Number(slider.value);
      for (const [at, row] of rows.entries()) {
        row.classList.toggle('now', at + 1 === step);
        row.classList.toggle('later', at + 1 > step);
      }
      violation.classList.toggle('later', step < rows.length);
      for (const [at, moment] of moments.entries()) moment.hidden = at !== step;
      output.textContent = `${step} / ${rows.length}`;
      const what = moments[step]!.dataset[root.lang === 'en' ? 'en' : 'zh'];
      slider.setAttribute('aria-valuetext', `${step} / ${rows.length}: ${what}`);
    }

    function move(steps: number): void {
      slider.value = String(Number(slider.value) + steps);
      show();
      follow();
    }

    /** Scrolls to the current step, and at the last step to the failure. */
    function follow(): void {
      const step = Number(slider.value);
      const shown = step === rows.length ? violation : rows[Math.max(step - 1, 0)];
      shown?.scrollIntoView({ block: 'nearest' });
    }

    slider.addEventListener('input', () => {
      show();
      follow();
    });
    figure.querySelector('.back').addEventListener('click', () => move(-1));
    figure.querySelector('.next').addEventListener('click', () => move(1));
    listeners.push(show);
  }

  /** Shows the claims that match both filters. An empty filter matches all. */
  function filterClaims(): void {
    const pressed = [...document.querySelectorAll('[data-field][aria-pressed="true"]')];
    let count = 0;
    for (const claim of document.querySelectorAll('.claim')) {
      claim.hidden = pressed.some(({ dataset }) => {
        return dataset.value !== '' && claim.dataset[dataset.field!] !== dataset.value;
      });
      if (!claim.hidden) count++;
    }
    for (const group of document.querySelectorAll('.document')) {
      group.hidden = [...group.querySelectorAll('.claim')].every(({ hidden }) => hidden);
    }
    document.querySelector('.filters output').textContent = String(count);
  }

  function press(button: PageElement): void {
    for (const other of document.querySelectorAll(`[data-field="${button.dataset.field}"]`)) {
      other.setAttribute('aria-pressed', String(other === button));
    }
    filterClaims();
  }

  /** Keyboard control of tabs: Tab focuses the selected one, the arrow keys select the others. */
  function startTabs(part: PageElement): void {
    const tabs = [...part.querySelectorAll('[role="tab"]')];
    const panels = [...part.querySelectorAll('[role="tabpanel"]')];

    function select(chosen: number): void {
      for (const [at, tab] of tabs.entries()) {
        tab.setAttribute('aria-selected', String(at === chosen));
        tab.setAttribute('tabindex', at === chosen ? '0' : '-1');
        panels[at]!.hidden = at !== chosen;
      }
    }

    function targetOf(key: string, at: number): number | undefined {
      if (key === 'ArrowRight') return (at + 1) % tabs.length;
      if (key === 'ArrowLeft') return (at + tabs.length - 1) % tabs.length;
      if (key === 'Home') return 0;
      return key === 'End' ? tabs.length - 1 : undefined;
    }

    for (const [at, tab] of tabs.entries()) {
      tab.addEventListener('click', () => select(at));
      tab.addEventListener('keydown', (event) => {
        const target = targetOf(event.key, at);
        if (target === undefined) return;
        event.preventDefault();
        select(target);
        tabs[target]!.focus();
      });
    }
    select(0);
  }

  /** Opens the variant that the URL's hash names. If it names a claim that is filtered out, shows all claims. */
  function unfold(): void {
    const target = document.getElementById(location.hash.slice(1));
    if (target === null) return;
    target.open = true;
    if (!target.hidden) return;
    for (const all of document.querySelectorAll('[data-value=""]')) press(all);
    target.scrollIntoView({ block: 'nearest' });
  }

  for (const figure of document.querySelectorAll('.run')) startRun(figure);
  for (const part of document.querySelectorAll('.tabs')) startTabs(part);
  for (const button of document.querySelectorAll('[data-language]')) {
    button.addEventListener('click', () => {
      setLanguage(button.dataset.language!);
      remember(button.dataset.language!);
    });
  }
  for (const button of document.querySelectorAll('[data-field]')) {
    button.addEventListener('click', () => press(button));
  }
  window.addEventListener('hashchange', unfold);
  unfold();
  root.classList.add('moves');
  document.querySelector('.index').open = matchMedia('(min-width: 60rem)').matches;
  setLanguage(remembered() ?? (navigator.language.startsWith('zh') ? 'zh' : 'en'));
}
