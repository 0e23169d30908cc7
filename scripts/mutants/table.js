// Planted bugs. Each is some edits of the library's text, and each text to find must be there exactly once:
// a mutant that no longer applies is an error, not a mutant that is caught. `tests` are the files that catch
// what the lab does not see; without them the lab must catch it alone. `scenario` is where it looks first,
// and further than elsewhere.

const SCRIPT = 'src/stores/lock-script.ts';
const LINE = 'src/stores/lock-script-line.ts';
const GENERAL = 'src/stores/lock-script-general.ts';
const STORE = 'src/stores/script-store.ts';
const ATTEMPT = 'src/lock/attempt.ts';
const LEASE = 'src/lock/store-lease.ts';
const CORE = 'src/lock/core.ts';

/** One edit of one file. */
function mutant(name, file, find, replace, tests = []) {
  return { name, edits: [{ file, find, replace }], tests };
}

/** One that the lab finds only if it looks longer in one place. */
function rare(scenario, hidden) {
  return { ...hidden, scenario };
}

export const MUTANTS = [
  mutant(
    'release: a free lock is deleted without a look at whose it is',
    SCRIPT,
    'if held == token then',
    'if held and string.byte(held) ~= PLUS then',
  ),
  mutant(
    'release: one that others wait for is handed over without a look at whose it is',
    SCRIPT,
    "elseif held == '+' .. token then",
    'elseif held and string.byte(held) == PLUS then',
  ),
  mutant(
    'release: a lock that others wait for is handed over without a look at whose it is',
    GENERAL,
    'local isOurs = lock.kind.owns(lock, token)\n    if isOurs then\n      lock.kind.drop',
    'local isOurs = lock.kind.owns(lock, token)\n    if true then\n      lock.kind.drop',
  ),
  mutant(
    'release: the next in line is not served',
    GENERAL,
    '    serve(lock)\n    return isOurs and 1 or 0',
    '    return isOurs and 1 or 0',
  ),
  mutant(
    'release: one that is sent again after its reply was lost is not known',
    GENERAL,
    'isOurs = lock.kind.hasEnded(lock, token, fence)',
    'isOurs = false',
  ),
  mutant(
    'release: who gives up stays in line',
    GENERAL,
    '    else\n      leave(lock, token)\n      isOurs',
    '    else\n      isOurs',
  ),
  mutant(
    'fence: not raised',
    LINE,
    "fence = string.format('%.0f', last + 1)\n          call('SET', key, fence, 'PX', DAY)",
    "fence = string.format('%.0f', last + 0)\n          call('SET', key, fence, 'PX', DAY)",
  ),
  mutant(
    'fence: not raised by a hand-over',
    LINE,
    "fence = string.format('%.0f', last + 1)\n      call('SET', key, mark",
    "fence = string.format('%.0f', last + 0)\n      call('SET', key, mark",
  ),
  mutant(
    'fence: the message that hands over says the one before',
    SCRIPT,
    "call('PUBLISH', called, fence .. ' ' .. first)",
    "call('PUBLISH', called, string.format('%.0f', fence - 1) .. ' ' .. first)",
  ),
  mutant(
    'hand-over: the waiter is called before it has the lock, which it then does not get',
    SCRIPT,
    "call('SET', holder, mark .. first, 'PX', isOwn and lease or RESERVE)",
    '',
  ),
  mutant(
    'hand-over: nobody is called',
    SCRIPT,
    "call('PUBLISH', called, fence .. ' ' .. first)",
    '',
  ),
  mutant(
    'hand-over: nobody is called for a semaphore',
    LINE,
    "call('PUBLISH', called, fence .. ' ' .. first)",
    '',
  ),
  {
    name: 'hand-over: who was served stays in line',
    edits: [
      {
        file: SCRIPT,
        find: '      if first then\n        local lease, called',
        replace:
          "      if first then\n        call('ZADD', queue, '0', first)\n        local lease, called",
      },
      {
        file: SCRIPT,
        find: "place = first and call('GETDEL', queue .. ':'",
        replace: "place = first and call('GET', queue .. ':'",
      },
    ],
    tests: [],
  },
  mutant(
    'hand-over: who was served stays in line for a semaphore',
    GENERAL,
    '    leave(lock, token)\n    local fence = lock.kind.put',
    '    local fence = lock.kind.put',
  ),
  mutant(
    'hand-over: a mutex is freed, and those in line hear nothing of it',
    SCRIPT,
    '      if first then\n        local lease, called',
    '      if false then\n        local lease, called',
  ),
  mutant(
    'hand-over: the caller’s own waiter is not told',
    SCRIPT,
    '          served[#served + 1] = first\n',
    "          served[#served + 1] = ''\n",
  ),
  mutant(
    'hand-over: reserved for as long as a whole lease',
    SCRIPT,
    'isOwn and lease or RESERVE)',
    'lease)',
    ['src/stores/hand-over.test.ts'],
  ),
  mutant(
    'hand-over: nobody looks when the one that was called has died',
    SCRIPT,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: so it stands in the file.
    'else${WARN_NEXT}',
    'else',
    ['src/stores/hand-over.test.ts', 'src/lock/lock.test.ts'],
  ),
  mutant(
    'hand-over: the caller’s own watcher is not told',
    LINE,
    'served[#served + 1] = watcher',
    "served[#served + 1] = ''",
    ['src/stores/hand-over.test.ts'],
  ),
  mutant(
    'line: served from its end',
    GENERAL,
    "local token = call('ZRANGE', lock.queue, '0', '0')[1]\n      if not token then return end",
    "local token = call('ZRANGE', lock.queue, '-1', '-1')[1]\n      if not token then return end",
  ),
  rare(
    'read-write',
    mutant(
      'line: who asks now may pass those who wait',
      GENERAL,
      "if call('EXISTS', lock.queue) == 0 and kind.fits(lock, lock.take) then",
      'if kind.fits(lock, lock.take) then',
    ),
  ),
  mutant(
    'line: asking again takes another place, at the end',
    LINE,
    "call('ZADD', queue, 'NX', ",
    "call('ZADD', queue, ",
  ),
  mutant(
    'line: a free mutex is taken past those who wait',
    LINE,
    "and call('EXISTS', holder .. ':queue') == 1 then",
    'and false then',
  ),
  mutant(
    'line: a free mutex whose fence is gone is taken past those who wait',
    LINE,
    'if (not last or string.byte(last) == PLUS) and',
    'if last and string.byte(last) == PLUS and',
    ['src/stores/lock-script.test.ts'],
  ),
  mutant('line: who stands in it leaves no mark', LINE, '    line.mark(holder, held)\n', ''),
  mutant(
    'line: who stands in it leaves a mark on the fence alone',
    LINE,
    'if held and string.byte(held) ~= PLUS and line.isOurs(held) then',
    'if false then',
  ),
  mutant(
    "line: who stands in it changes a stranger's token",
    LINE,
    'string.byte(held) ~= PLUS and line.isOurs(held) then',
    'string.byte(held) ~= PLUS then',
    ['src/stores/lock-script.test.ts'],
  ),
  mutant(
    'extend: of a holder that somebody waits for, it is not known',
    LINE,
    "return held == token or held == '+' .. token",
    'return held == token',
  ),
  mutant(
    'line: a hand-over loses the mark of those behind',
    SCRIPT,
    "local isOwn, mark = called == channel, '+'",
    "local isOwn, mark = called == channel, ''",
  ),
  mutant(
    'line: a grant by the long way loses the mark',
    GENERAL,
    'nextFence(lock.fence, line.markOf(lock.queue))',
    "nextFence(lock.fence, '')",
    ['src/stores/lock-script.test.ts'],
  ),
  mutant(
    'line: a grant by the long way has no mark',
    GENERAL,
    'line.markOf(lock.queue) .. token',
    'token',
    ['src/stores/lock-script.test.ts'],
  ),
  mutant(
    'line: several at once lose the mark',
    GENERAL,
    "local mark = line.markOf(KEYS[each] .. ':queue')",
    "local mark = ''",
    ['src/stores/lock-script.test.ts'],
  ),
  mutant(
    'ask: not idempotent, the holder itself finds it busy',
    GENERAL,
    '    if not kind.owns(lock, token) then\n      serve(lock, token)\n      if not kind.owns(lock, token) then',
    '    if true then\n      serve(lock, token)\n      if not kind.owns(lock, token) or true then',
  ),
  mutant(
    'line: the holder that asks again stands behind itself',
    LINE,
    'if not held or line.isOf(held, token) then return end\n    local left',
    'if not held then return end\n    local left',
  ),
  mutant(
    'extend: of a mutex, without a look at whose it is',
    LINE,
    "    if not held or not line.isOf(held, token) then return end\n    call('PEXPIRE'",
    "    call('PEXPIRE'",
  ),
  mutant(
    'extend: without a look at whose it is',
    GENERAL,
    'if not lock.kind.owns(lock, token) then return 0 end',
    '',
  ),
  rare(
    'mutex-adopted',
    mutant(
      'adopt: without a look at whose it was',
      GENERAL,
      'if kind.owns(lock, from) then',
      'if true then',
    ),
  ),
  mutant(
    'mutex: handed over without an end',
    GENERAL,
    "line.markOf(lock.queue) .. token, 'PX', lease)",
    'line.markOf(lock.queue) .. token)',
  ),
  mutant(
    'semaphore: holders whose lease has ended are kept',
    GENERAL,
    'for _, token in ipairs(ended) do several.drop(lock, token) end',
    '',
  ),
  mutant(
    'semaphore: permits are not returned',
    GENERAL,
    "if take ~= '0' then call('HINCRBY', lock.state, 'used', '-' .. take) end",
    '',
  ),
  mutant(
    'semaphore: one permit too many',
    GENERAL,
    'return used + take <= lock.slots',
    'return used + take <= lock.slots + 1',
  ),
  mutant(
    'semaphore: a renewal does not move the end',
    GENERAL,
    "call('ZADD', lock.holder, 'XX', whole(lock.now + ms), token)",
    '',
  ),
  mutant(
    'lease: the deadline is counted from the reply',
    ATTEMPT,
    'else if (answer.held) this.#accept(answer.fence, sentMs, sentWallMs);',
    'else if (answer.held) this.#accept(answer.fence, this.core.clock.monotonicMs(), this.core.clock.wallMs());',
  ),
  mutant(
    'lease: a grant that comes too late is taken',
    ATTEMPT,
    'return spentMs < safeMs(this.claim.leaseMs);',
    'return true;',
    ['src/lock/lock.test.ts'],
  ),
  mutant(
    'reservation: counted from the message instead of from when it asked',
    ATTEMPT,
    'const { sentMs, sentWallMs } = this.#asking!;',
    'const [sentMs, sentWallMs] = [this.core.clock.monotonicMs(), this.core.clock.wallMs()];',
  ),
  mutant(
    'reservation: taken although it asked again since',
    ATTEMPT,
    'return this.#asking?.count === 1 && !this.#asking.wasCalled;',
    'return this.#asking !== undefined;',
  ),
  mutant(
    'attempt: has no end to its patience once it is sent',
    ATTEMPT,
    '    this.core.began(this);\n    this.#prepareLease();',
    '    this.#prepareLease();',
    ['src/lock/loose-end.test.ts'],
  ),
  mutant(
    'attempt: the library was closed before it was sent, and it does not look',
    ATTEMPT,
    '    if (closed !== undefined) {\n      this.closed(closed.reason);\n      return;\n    }\n    this.core.began(this);',
    '    this.core.began(this);',
    ['src/lock/loose-end.test.ts'],
  ),
  mutant(
    'release: a worker keeps what is being released',
    LEASE,
    '    this.#core.watchdog.leaveToEnd(this);\n',
    '',
    ['test/worker-renewal.test.ts'],
  ),
  mutant('reservation: not confirmed', ATTEMPT, 'if (isReserved) lease.renew();', ''),
  mutant(
    'give-back: forgotten when the answer comes after giving up',
    ATTEMPT,
    'if (!lease?.isGivenAway || isLater) this.core.giveBack(this.claim, this.claim.leaseMs);',
    '',
  ),
  mutant(
    'give-back: forgotten when giving up while standing in line',
    ATTEMPT,
    'if (!this.#isAsking) this.core.giveBack(this.claim, this.claim.leaseMs);',
    'if (!this.#isAsking) return;',
  ),
  mutant(
    'wait: no look at the clock, only the message wakes',
    ATTEMPT,
    'if (Number.isFinite(durationMs)) this.#askIn(durationMs);',
    'if (durationMs === FIRST_PAUSE_MS) this.#askIn(durationMs);',
  ),
  mutant(
    'wait: a call that comes while it asks is forgotten',
    ATTEMPT,
    'this.#acceptReserved(grant);\n    else if (this.#asking?.isUnderWay) this.#asking.wasCalled = true;',
    'this.#acceptReserved(grant);\n    else if (this.#asking?.isUnderWay) return;',
  ),
  mutant(
    'wait: a grant that comes too late, while it asks, is forgotten',
    ATTEMPT,
    '} else if (this.#asking?.isUnderWay) this.#asking.wasCalled = true;',
    '} else if (this.#asking?.isUnderWay) return;',
    ['src/lock/loose-end.test.ts', 'src/stores/hand-over.test.ts'],
  ),
  mutant(
    'lease: the holder is told after its lease has ended',
    LEASE,
    'leaseMs * (1 - DRIFT) - DRIFT_MS',
    'leaseMs * (1 + 10 * DRIFT)',
  ),
  {
    name: 'renewal: goes on after the release',
    edits: [
      {
        file: LEASE,
        find: '    this.#core.watchdog.drop(this);\n',
        replace: '',
      },
      {
        file: LEASE,
        find: 'if (!this.isHeld) return;\n    const { clock, store, watchdog } = this.#core;',
        replace: 'const { clock, store, watchdog } = this.#core;',
      },
    ],
    tests: [],
  },
  mutant(
    'renewal: an answer that says it is another’s is not heard',
    LEASE,
    "(isOurs ? this.#renewed(sentMs, sentWallMs) : this.#lose('stolen'))",
    'this.#renewed(sentMs, sentWallMs)',
    ['src/lock/store-lease.test.ts'],
  ),
  rare(
    'mutex-renewed',
    mutant(
      'renewal: counted from its answer',
      LEASE,
      '    this.sentMs = sentMs;\n    this.#sentWallMs = sentWallMs;\n    if (!this.renews)',
      '    this.sentMs = this.#core.clock.monotonicMs();\n    this.#sentWallMs = this.#core.clock.wallMs();\n    if (!this.renews)',
    ),
  ),
  mutant(
    'renewal: what falls due stands in two lists',
    'src/lock/due-list.ts',
    'item.drop();\n    item.list = this;',
    'item.list = this;',
    ['src/lock/due-list.test.ts'],
  ),
  mutant(
    'transfer: the giver goes on holding',
    LEASE,
    '    this.#finish(new NotHeldError(this.name));\n    return transferText',
    '    return transferText',
  ),
  mutant(
    'close: what is held is not released',
    CORE,
    'await Promise.all(leases.map((lease) => lease.release()));',
    '',
  ),
  mutant(
    'store: a list of others that were served is not read',
    STORE,
    'this.#serve(batch, { owner: ownerOf(served[index]), fence: Number(served[index + 1]) });',
    '',
    ['src/stores/script-store.test.ts'],
  ),
  mutant(
    'store: another that was served alone is not read',
    STORE,
    'if (call !== undefined) this.#serve(batch, call);',
    '',
  ),
  mutant(
    'store: requests have no time-out',
    STORE,
    'this.#calls.add(batch, this.#clock.monotonicMs());',
    'this.#calls.add(batch, Number.MAX_SAFE_INTEGER);',
  ),
  mutant(
    'store: an answer is heard although its request was given up',
    STORE,
    '    if (batch.hasFailed) return;\n    const { parse',
    '    const { parse',
    ['src/stores/script-store.test.ts'],
  ),
  mutant(
    'release: not tried again when the store did not answer',
    'src/lock/let-go.ts',
    'return new Promise((tell) => void this.#persist(tell));',
    "return Promise.resolve('unknown');",
  ),
  mutant(
    'release: not asked for again with its fence',
    STORE,
    'if (released !== undefined && result === false) this.#releaseAgain(released, settler);\n    else if',
    'if',
  ),
  mutant(
    'deadlock: not seen',
    'src/lock/scope.ts',
    "  return isShort(core, claim, (holder) => stuck.has(holder)) ? 'cycle' : undefined;",
    '  return undefined;',
    ['src/lock/scope.test.ts', 'src/lock/lock.test.ts'],
  ),
  mutant(
    'calls: one that overtakes the answer is lost',
    'src/stores/script-store.ts',
    'if (stands) this.#waiting.set(claim.owner, claim);',
    '',
    ['src/stores/hand-over.test.ts', 'src/stores/script-store.test.ts'],
  ),
  mutant(
    'memory: who asks may pass those who wait',
    'src/lock/memory-store.ts',
    'return this.#line.first !== undefined;',
    'return false;',
    ['src/lock/memory-store.test.ts', 'src/lock/lock.test.ts'],
  ),
  mutant(
    'memory: leases do not end',
    'src/lock/memory-store.ts',
    'if (holder.deadlineMs <= nowMs) ended',
    'if (holder.deadlineMs < 0) ended',
    ['src/lock/memory-store.test.ts', 'src/lock/lock.test.ts'],
  ),
];
