/**
 * Each recipe as a text in a book would write it. A test holds these against what the recipes really
 * send: every command stands here, and no other.
 */
export const PSEUDO_CODE: ReadonlyMap<string, string> = new Map([
  [
    'setnx-only',
    `until SETNX lock 1 gives 1
    sleep 1 s
work
DEL lock`,
  ],
  [
    'setnx-then-expire',
    `until SETNX lock 1 gives 1
    sleep 1 s
EXPIRE lock 2
work
DEL lock`,
  ],
  [
    'setnx-repaired-expire',
    `until SETNX lock 1 gives 1
    if TTL lock gives -1
        EXPIRE lock 2
    sleep 1 s
EXPIRE lock 2
work
DEL lock`,
  ],
  [
    'multi-setnx-expire',
    `repeat, each second
    MULTI
    SETNX lock 1
    EXPIRE lock 2
    EXEC
until SETNX gave 1
work
DEL lock`,
  ],
  [
    'lua-setnx-expire',
    `until EVAL <setnx and expire> 1 lock 1 2 gives 1
    sleep 1 s
work
DEL lock`,
  ],
  [
    'set-nx-ex-del',
    `until SET lock 1 NX EX 2 gives OK
    sleep 1 s
work
DEL lock`,
  ],
  [
    'set-nx-px-get-del',
    `token = another one each time
until SET lock token NX PX 2000 gives OK
    sleep 1 s
work
if GET lock gives token
    DEL lock`,
  ],
  [
    'set-nx-px-lua-del',
    `token = another one each time
until SET lock token NX PX 2000 gives OK
    sleep 1 s
work
EVAL <compare and delete> 1 lock token`,
  ],
  [
    'timestamp-del-setnx',
    `repeat, each second
    expiry = unix time + 2
    if SETNX lock.foo expiry gives 1
        leave the loop
    found = GET lock.foo
    now = unix time
    if found < now
        DEL lock.foo
        expiry = now + 2
        if SETNX lock.foo expiry gives 1
            leave the loop
work
DEL lock.foo`,
  ],
  [
    'timestamp-getset',
    `repeat, each second
    expiry = unix time + 2
    if SETNX lock.foo expiry gives 1
        leave the loop
    found = GET lock.foo
    now = unix time
    if found < now
        expiry = now + 2
        if GETSET lock.foo expiry gives found
            leave the loop
work
DEL lock.foo`,
  ],
  [
    'timestamp-getset-checked',
    `repeat, each second
    expiry = unix time + 2
    if SETNX lock.foo expiry gives 1
        leave the loop
    found = GET lock.foo
    now = unix time
    if found < now
        expiry = now + 2
        if GETSET lock.foo expiry gives found
            leave the loop
work
if unix time < expiry
    DEL lock.foo`,
  ],
  [
    'timestamp-getset-slow',
    `repeat, each second
    expiry = unix time in ms + 2000
    if SETNX lock.foo expiry gives 1
        leave the loop
    found = GET lock.foo
    now = unix time in ms
    if found < now
        expiry = now + 2000
        if GETSET lock.foo expiry gives found
            leave the loop
work
DEL lock.foo`,
  ],
  [
    'memcached-add',
    `token = another one each time
until EVAL <add> 2 lock unique token 2 gives STORED
    sleep 1 s
work

variant delete:
    DEL lock

variant cas:
    value, unique = GET lock
    if value = token
        EVAL <cas with an expiry in the past> 1 lock unique`,
  ],
  [
    'watchdog',
    `token = another one each time
until SET lock token NX PX 2000 gives OK
    sleep 1 s
three times, for 3 s of work
    sleep 1 s
    unless EVAL <compare and expire> 1 lock token 2000 gives 1
        stop: the lock is lost
write
EVAL <compare and delete> 1 lock token

variant no-renewal: without <compare and expire>`,
  ],
  [
    'fenced',
    `token = another one each time
until fence = EVAL <set nx px, and the next fence> 2 lock fence token 2000
    sleep 1 s
work, and write with the fence
    the resource refuses a fence older than the last
EVAL <compare and delete> 1 lock token`,
  ],
  ['holdfast-mutex', libraryCode('lock:{foo}', 'verb')],
  ['holdfast-read-write', libraryCode('rw:{foo}', '"verb 1073741824 take"')],
  ['holdfast-semaphore', libraryCode('semaphore:{foo}', '"verb 2 take"')],
]);

/** What the library does for one lock; a lock of several slots is told how many to take. */
function libraryCode(key: string, verb: string): string {
  return `ask verb number:
    EVAL <the lock script> 1 ${key}
        client ${verb} owner number

owner = another one each time
repeat
    answer = ask line 2000
    if answer > 0
        fence = answer, leave the loop
    wait for a message, for -answer ms at most
    if the message gives owner a fence
        ask extend 2000, leave the loop
each second
    ask extend 2000
write with the fence
ask release fence`;
}
