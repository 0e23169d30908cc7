#!/usr/bin/env node
import { refusal } from './node-version.ts';
import { version } from './version.ts';

// The rest is loaded only when this Node can read it: an old one would stop at a syntax error instead.
const refused = refusal(process.versions.node);
if (refused === undefined && /^(-v|--version)$/.test(process.argv[2] ?? '')) {
  // Scripts call this often: it loads nothing else.
  process.stdout.write(`${version()}\n`);
} else if (refused === undefined) {
  void import('./dispatch.ts').then(async ({ run }) => {
    process.exitCode = await run(process.argv.slice(2));
  });
} else {
  console.error(refused);
  process.exitCode = 1;
}
