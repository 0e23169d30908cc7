#!/usr/bin/env node
import { refusal } from './node-version.ts';

// Who reads the output may leave early (`| head`): no reason to print an exception. A server goes on
// when nobody reads its reports.
process.stdout.on('error', () => process.exit());
process.stderr.on('error', () => {});

// The rest is loaded only when this Node can read it: an old one would stop at a syntax error instead.
const refused = refusal(process.versions.node);
if (refused === undefined) {
  void import('./dispatch.ts').then(async ({ run }) => {
    process.exitCode = await run(process.argv.slice(2));
  });
} else {
  console.error(refused);
  process.exitCode = 1;
}
