// Compiles src/ into dist/ and makes the command line executable, here also as `npx holdfast`.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');

rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], {
  cwd: root,
  stdio: 'inherit',
});
chmodSync(join(root, 'dist', 'cli', 'main.js'), 0o755);

// npm links the commands of dependencies only. Without this, npx would install the package into its
// own cache first, and fail for good if that was ever interrupted.
const bin = join(root, 'node_modules', '.bin');
if (process.platform !== 'win32' && existsSync(bin)) {
  rmSync(join(bin, 'holdfast'), { force: true });
  symlinkSync(join('..', '..', 'dist', 'cli', 'main.js'), join(bin, 'holdfast'));
}
