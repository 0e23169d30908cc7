import { LockArgumentError } from '../../lock/index.ts';

/** @throws LockArgumentError. The message does not repeat the address, which may include a password. */
export function checkPostgresUrl(url: string): void {
  if (/^postgres(ql)?:\/\/./i.test(url) && URL.canParse(url)) return;
  throw new LockArgumentError(
    '',
    'the address must be postgres://user:password@host:5432/database',
  );
}
