/**
 * The pseudo-code of each recipe. A key with a variant's name after the recipe's is for a variant that differs.
 * The pseudo-code of the textbook locks is executable: `parseRecipe` parses it together with the scripts that
 * it names, and a test checks that it behaves as the recipe in every interleaving. The pseudo-code of the
 * library is for reading; a test compares its commands with those sent.
 */
export const PSEUDO_CODE: ReadonlyMap<string, string> = new Map([
  [
    'setnx-only',
    `until SETNX lock 1 gives 1
    sleep 1 s
hold lock
    work
DEL lock`,
  ],
  [
    'setnx-then-expire',
    `until SETNX lock 1 gives 1
    sleep 1 s
EXPIRE lock 2
hold lock for 2 s
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
hold lock for 2 s
    work
DEL lock`,
  ],
  [
    'multi-setnx-expire',
    `repeat, each second
    MULTI
    taken = SETNX lock 1
    EXPIRE lock 2
    EXEC
    if taken = 1
        leave the loop
hold lock for 2 s
    work
DEL lock`,
  ],
  [
    'lua-setnx-expire',
    `until EVAL <setnx and expire> 1 lock 1 2 gives 1
    sleep 1 s
hold lock for 2 s
    work
DEL lock`,
  ],
  [
    'lua-setnx-expire keys-only',
    `until EVAL <setnx and expire, with keys only> 3 lock 1 2 gives 1
    sleep 1 s
hold lock for 2 s
    work
DEL lock`,
  ],
  [
    'set-nx-ex-del',
    `until SET lock 1 NX EX 2 gives OK
    sleep 1 s
hold lock for 2 s
    work
DEL lock`,
  ],
  [
    'set-nx-px-get-del',
    `token = another one each time
until SET lock token NX PX 2000 gives OK
    sleep 1 s
hold lock for 2 s
    work
unless GET lock gives token
    stop: the lock is lost
DEL lock`,
  ],
  [
    'set-nx-px-get-del unchecked',
    `token = another one each time
SET lock token NX PX 2000
hold lock for 2 s
    work
unless GET lock gives token
    stop: the lock is lost
DEL lock`,
  ],
  [
    'set-nx-px-lua-del',
    `token = another one each time
until SET lock token NX PX 2000 gives OK
    sleep 1 s
hold lock for 2 s
    work
unless EVAL <compare and delete> 1 lock token gives 1
    stop: the lock is lost`,
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
hold lock.foo until expiry
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
hold lock.foo until expiry
    work
DEL lock.foo`,
  ],
  [
    'timestamp-getset still-expired',
    `repeat, each second
    expiry = unix time + 2
    if SETNX lock.foo expiry gives 1
        leave the loop
    found = GET lock.foo
    now = unix time
    if found < now
        expiry = now + 2
        previous = GETSET lock.foo expiry
        if previous < now
            leave the loop
hold lock.foo until expiry
    work
DEL lock.foo`,
  ],
  ['timestamp-getset at-or-before', atOrBefore(2)],
  ['timestamp-getset without-plus-one', atOrBefore(1)],
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
hold lock.foo until expiry
    work
unless unix time < expiry
    stop: the lock is lost
DEL lock.foo`,
  ],
  [
    'timestamp-getset-checked elapsed',
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
hold lock.foo until expiry
    limit = unix time + 2
    work
unless unix time < limit
    stop: the lock is lost
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
hold lock.foo until expiry in ms
    work
DEL lock.foo`,
  ],
  [
    'memcached-add',
    `variants delete, cas
token = another one each time
until EVAL <add> 2 lock unique token 2 gives STORED
    sleep 1 s
hold lock for 2 s
    work
if variant cas
    value, number = GET lock
    unless value = token
        stop: the lock is lost
    unless EVAL <cas with an expiry in the past> 1 lock number gives STORED
        stop: the lock is lost
else
    DEL lock`,
  ],
  [
    'memcached-add whole-seconds',
    `token = another one each time
until EVAL <add, ended by a clock of whole seconds> 1 lock token 1 gives STORED
    sleep 1 s
hold lock for 1 s
    work
DEL lock`,
  ],
  [
    'memcached-touch',
    `variants touch, cas
token = another one each time
until EVAL <add> 2 lock unique token 2 gives STORED
    sleep 1 s
hold lock for 2 s
    sleep 1 s
    if variant cas
        value, number = GET lock
        unless value = token
            stop: the lock is lost
        unless EVAL <cas> 2 lock unique token number 2 gives STORED
            stop: the lock is lost
    else
        unless EVAL <touch> 1 lock 2 gives TOUCHED
            stop: the lock is lost
    extend for 2 s
    work
value, number = GET lock
unless value = token
    stop: the lock is lost
unless EVAL <cas with an expiry in the past> 1 lock number gives STORED
    stop: the lock is lost`,
  ],
  [
    'memcached-eviction',
    `variants full, own-memory
token = another one each time
repeat, each second
    unless variant own-memory
        EVAL <set of another key, in full memory> 1 lock
    if EVAL <add> 2 lock unique token 2 gives STORED
        leave the loop
hold lock for 2 s
    work
value, number = GET lock
unless value = token
    stop: the lock is lost
unless EVAL <cas with an expiry in the past> 1 lock number gives STORED
    stop: the lock is lost`,
  ],
  [
    'watchdog',
    `variants pause, no-pause, no-renewal
token = another one each time
until SET lock token NX PX 2000 gives OK
    sleep 1 s
hold lock for 2 s
    3 times
        sleep 1 s
        unless variant no-renewal
            unless EVAL <compare and expire> 1 lock token 2000 gives 1
                stop: the lock is lost
            extend for 2 s
    write
unless EVAL <compare and delete> 1 lock token gives 1
    stop: the lock is lost`,
  ],
  [
    'fenced',
    `token = another one each time
repeat, each second
    number = EVAL <set nx px, and the next fence> 2 lock fence token 2000
    unless number = nil
        leave the loop
hold lock for 2 s
    # the resource refuses a fence older than the last
    accepted = work with fence number
unless EVAL <compare and delete> 1 lock token gives 1
    stop: the lock is lost
unless accepted = 1
    stop: the lock is lost`,
  ],
  ['holdfast-mutex', libraryCode('lock:{foo}', 'operation')],
  ['holdfast-read-write', libraryCode('rw:{foo}', '"operation 1073741824 take"')],
  ['holdfast-semaphore', libraryCode('semaphore:{foo}', '"operation 2 take"')],
]);

/** The rule of the manual: a lock whose time is now has ended. `seconds` are added to the clock. */
function atOrBefore(seconds: number): string {
  return `repeat, each second
    expiry = unix time + ${seconds}
    if SETNX lock.foo expiry gives 1
        leave the loop
    found = GET lock.foo
    now = unix time
    if found <= now
        expiry = now + ${seconds}
        if GETSET lock.foo expiry gives found
            leave the loop
hold lock.foo for 1 s
    work
DEL lock.foo`;
}

/** One acquisition of the library. For a lock with several slots `operation` includes slots and permits. */
function libraryCode(key: string, operation: string): string {
  return `request operation:
    EVAL <the lock script> 1 ${key}
        ${operation} owner 2000

owner = another one each time
repeat
    answer = request queue
    if answer > 0
        fence = answer, leave the loop
    repeat
        wait for a message, for 1 s at most
        if the message gives owner a fence
            request extend, leave both loops
        unless request refresh > 0
            leave the loop
each second
    request extend
write with the fence
request release`;
}
