// Builds a page of web/ into a folder of dist/, as files that any host can serve.
import { join } from 'node:path';
import { build } from 'vite';

const root = join(import.meta.dirname, '..', '..');

/** Browsers with `light-dark()`, which web/theme.css needs. */
const BROWSERS = ['chrome123', 'firefox121', 'safari17.5'];

/** Builds `web/<name>/index.html` into `dist/<name>/`. URLs are relative: the page may be mounted under a prefix. */
export async function buildPage(name) {
  await build({
    configFile: false,
    root: join(root, 'web', name),
    base: './',
    logLevel: 'warn',
    build: {
      outDir: join(root, 'dist', name),
      emptyOutDir: true,
      target: BROWSERS,
      // The content security policy of the page's server allows files only.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  });
}
