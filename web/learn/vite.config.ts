// The lab and the tutorial as static files: relative URLs, no inline script or style.
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { catalog } from './catalog.js';

const folder = import.meta.dirname;
const shim = (name: string): string => join(folder, 'shims', `${name}.ts`);

/** Modules of Node on the engine's path, and the few names that are global in Node. */
const alias = { 'node:crypto': shim('crypto'), 'node:os': shim('os'), 'node:v8': shim('v8') };
const inject: Record<string, [file: string, name: string]> = {
  Buffer: [shim('buffer'), 'Buffer'],
  process: [shim('process'), 'process'],
  setImmediate: [shim('process'), 'setImmediate'],
};

/** The load of a busy machine is no news. */
const QUIET = { pluginTimings: false };

/** Everything else that Node has is reached only by code that tree shaking removes. */
const unused = {
  external: [/^node:(?!crypto$|os$|v8$)/, 'pg', 'postgres'],
  transform: { inject },
  checks: QUIET,
};

export default defineConfig(({ mode }) => ({
  root: folder,
  base: './',
  logLevel: 'warn',
  resolve: { alias },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [catalog(mode === 'site')],
  define: { __SITE__: JSON.stringify(mode === 'site') },
  worker: { format: 'es', rolldownOptions: unused },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    emptyOutDir: true,
    rolldownOptions: { checks: QUIET },
  },
}));
