import { dialogue, figure, type Row, replayed, searched, tested, text } from './claim.ts';

export const REFERENCE: readonly Row[] = [
  {
    number: 58,
    place: text('description', '命令说明'),
    claim: text(
      'SETNX sets the key only if it does not exist, and else does nothing.',
      'key 不存在时 SETNX 才设置，否则什么也不做。',
    ),
    verdict: 'right',
    reason: text('As claims 1 and 2.', '同第 1、2 条。'),
    rightForm: null,
    evidence: [
      dialogue(
        ['SETNX seat anna', '(integer) 1'],
        ['SETNX seat ben', '(integer) 0'],
        ['GET seat', '"anna"'],
      ),
    ],
  },
  {
    number: 59,
    place: text('time complexity', '时间复杂度'),
    claim: text('SETNX is O(1).', 'SETNX 的时间复杂度是 O(1)。'),
    verdict: 'right',
    reason: text(
      'The number of keys does not matter; the length of the key and of the value does.',
      '与 key 的总数无关，只与 key 和 value 的长度有关。',
    ),
    rightForm: null,
    evidence: [
      tested(
        'src/engine/key-index.test.ts',
        'a look reads the key that it finds and hardly any other',
      ),
      tested(
        'src/engine/key-index.test.ts',
        'no growth moves more than a hundredth of all, and removals give the room back',
      ),
      tested('test/command-facts.test.ts', 'COMMAND DOCS %s has the same complexity'),
    ],
  },
  {
    number: 60,
    place: text('return value', '返回值'),
    claim: text('1 on success, 0 on failure.', '成功返回 1，失败返回 0。'),
    verdict: 'right',
    reason: text('As claim 10.', '同第 10 条。'),
    rightForm: null,
    evidence: [dialogue(['SETNX seat anna', '(integer) 1'], ['SETNX seat anna', '(integer) 0'])],
  },
  {
    number: 61,
    place: text('example', '例子'),
    claim: text(
      'A dialogue: the key is missing, the first SETNX sets it, the second does not, and GET returns the first value.',
      '例子：key 不存在，第一次 SETNX 成功，第二次失败，GET 得到第一次的值。',
    ),
    verdict: 'right',
    reason: text('The replies are the same byte for byte.', '回复逐字节相同。'),
    rightForm: null,
    evidence: [
      dialogue(
        ['EXISTS seat', '(integer) 0'],
        ['SETNX seat "anna"', '(integer) 1'],
        ['SETNX seat "ben"', '(integer) 0'],
        ['GET seat', '"anna"'],
      ),
      tested('src/engine/commands/strings.test.ts', 'hold the dialogue of the SETNX page'),
    ],
  },
  {
    number: 62,
    place: text('example', '例子'),
    claim: text(
      'Remarks after a # stand on the lines of the commands.',
      '例子在命令后面用 # 写注释。',
    ),
    verdict: 'conditional',
    reason: text(
      'Good for readers, not for the prompt: redis-cli has no comments and sends the words as arguments.',
      '给人看没问题，但不能照样输入：redis-cli 没有注释，这些字会当作参数发送。',
    ),
    rightForm: text('Leave the remark away when you type the line.', '输入时去掉注释。'),
    evidence: [
      dialogue(
        ['SETNX seat anna # new', "(error) ERR wrong number of arguments for 'setnx' command"],
        ['EXISTS seat # none', '(integer) 0'],
        ['GET seat # nil', "(error) ERR wrong number of arguments for 'get' command"],
      ),
    ],
  },
  {
    number: 63,
    place: text('pattern: locking', '设计模式：加锁'),
    claim: text('SETNX can serve as a primitive for locks.', 'SETNX 可以用作加锁的原语。'),
    verdict: 'right',
    reason: text(
      'It gives exclusion. A lock needs more: an end if the holder dies, and a release that checks the owner.',
      '它能保证互斥。但一把锁还需要：持有者退出后会到期，释放时检查归属。',
    ),
    rightForm: text(
      '`SET key token NX PX 30000`, which ends by itself, and compare and delete.',
      '`SET key token NX PX 30000` 会自己到期；再加上比较并删除。',
    ),
    evidence: [
      searched('setnx-only', 'no-crash'),
      replayed('setnx-only', 'crash', 'axa', 'held-for-ever'),
    ],
  },
  {
    number: 64,
    place: text('pattern: locking', '设计模式：加锁'),
    claim: text('The holder releases the lock with DEL.', '持有者用 DEL 释放锁。'),
    verdict: 'conditional',
    reason: text(
      'While its lease has not ended. After that DEL removes the lock of another client.',
      '前提是租约还没有到期，否则删掉的是别人的锁。',
    ),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      replayed('timestamp-getset', 'unchecked-del', 'aa.aza..bbbbbwaa', 'foreign-release'),
    ],
  },
  {
    number: 65,
    place: text('pattern: locking', '设计模式：加锁'),
    claim: text(
      'On 0 a non-blocking lock returns to its caller.',
      '返回 0 时，非阻塞的锁直接返回调用者。',
    ),
    verdict: 'right',
    reason: text(
      'The caller must be able to tell busy from an error.',
      '调用者要能区分“锁被占用”和“出错”。',
    ),
    rightForm: text(
      "`locks.mutex('foo').tryAcquire()` returns null; `holdfast run --no-wait` exits with 75.",
      "`locks.mutex('foo').tryAcquire()` 返回 null；`holdfast run --no-wait` 以 75 退出。",
    ),
    evidence: [
      tested('src/lock/lock.test.ts', 'returns null from tryAcquire() if the lock is busy'),
    ],
  },
  {
    number: 66,
    place: text('pattern: locking', '设计模式：加锁'),
    claim: text(
      'Or it retries until it has the lock or a timeout has passed.',
      '或者循环重试，直到成功或超时。',
    ),
    verdict: 'right',
    reason: text(
      'Without an order a waiter can be overtaken again and again.',
      '没有先后顺序时，等待者可能一再被插队。',
    ),
    rightForm: text(
      "`locks.mutex('foo').acquire({ wait: '5s' })`: first come, first served; LockTimeoutError at the end.",
      "`locks.mutex('foo').acquire({ wait: '5s' })`：先到先得，超时抛出 LockTimeoutError。",
    ),
    evidence: [
      tested('src/lock/lock.test.ts', 'rejects with LockTimeoutError that says how long it waited'),
      tested('src/lock/lock.test.ts', 'grants the lock in order of arrival'),
    ],
  },
  {
    number: 67,
    place: text('deadlocks', '处理死锁'),
    claim: text(
      'A client that fails or crashes cannot release its lock.',
      '客户端失败或崩溃，就无法释放锁。',
    ),
    verdict: 'right',
    reason: text('As claim 15.', '同第 15 条。'),
    rightForm: text('A lease that the server ends.', '由服务器负责到期的租约。'),
    evidence: [replayed('setnx-only', 'crash', 'axa', 'held-for-ever')],
  },
  {
    number: 68,
    place: text('deadlocks', '处理死锁'),
    claim: text(
      'It can be detected: a stored time smaller than the current one means that the lock is no longer valid.',
      '可以检测：值里的时间戳小于当前时间，锁就失效了。',
    ),
    verdict: 'conditional',
    reason: text(
      'If the clocks of the clients agree, and if a holder that is still at work notices it too.',
      '前提是各客户端时钟一致，而且还在工作的持有者自己也能发现。',
    ),
    rightForm: text(
      'A TTL: the server decides, by one clock.',
      '用 TTL：由服务器按同一个时钟判断。',
    ),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      replayed('timestamp-getset', 'skewed-clocks', '+abbaaaaa', 'two-awake-inside'),
    ],
  },
  {
    number: 69,
    place: text('deadlocks', '处理死锁'),
    claim: text(
      'An old lock must not simply be deleted and taken with SETNX.',
      '不能直接删除过期的锁再 SETNX。',
    ),
    verdict: 'right',
    reason: text(
      'Two clients that both found it old delete in turn; the second deletes the new lock of the first.',
      '两个客户端都发现锁已过期，先后删除；后一个删掉的是前一个刚拿到的锁。',
    ),
    rightForm: text(
      'GETSET and a comparison (claim 49), or a TTL.',
      'GETSET 加比较（第 49 条），或者 TTL。',
    ),
    evidence: [replayed('timestamp-del-setnx', 'crash', 'aaxa...bbbbcccbbccc', 'two-awake-inside')],
  },
  {
    number: 70,
    place: text('deadlocks: C1, C2 and C3', '处理死锁：C1、C2、C3'),
    claim: text(
      'In six steps C1 and C2 both end up with the lock of C3, which crashed.',
      'C3 崩溃后，C1 和 C2 经过六步都拿到了锁。',
    ),
    verdict: 'right',
    reason: text(
      'The lab finds the same order. It is the shortest failure of this recipe: 18 steps with clock reads and time.',
      '实验室找到的顺序与此相同，也是这种写法最短的失败：连同读时钟和时间流逝共 18 步。',
    ),
    rightForm: null,
    evidence: [
      replayed('timestamp-del-setnx', 'crash', 'aaxa...bbbbcccbbccc', 'two-awake-inside'),
      dialogue(
        ['SETNX lock.foo 100', '(integer) 1'],
        ['DEL lock.foo', '(integer) 1'],
        ['SETNX lock.foo 210', '(integer) 1'],
        ['DEL lock.foo', '(integer) 1'],
        ['SETNX lock.foo 211', '(integer) 1'],
      ),
    ],
  },
  {
    number: 71,
    place: text('deadlocks: C4', '处理死锁：C4'),
    claim: text(
      'C4 gets 0 from SETNX, reads the time with GET, and sleeps and retries if it has not passed.',
      'C4 的 SETNX 返回 0，用 GET 查看时间，未过期就休眠后重试。',
    ),
    verdict: 'right',
    reason: text(
      'GET may also return nil, if the holder has just released: then C4 should begin again at once.',
      '持有者恰好释放时，GET 会返回 nil：这时应立即从头开始。',
    ),
    rightForm: null,
    evidence: [
      replayed('timestamp-getset', 'take-over', 'aabbbb', null),
      searched('timestamp-getset', 'take-over'),
    ],
  },
  {
    number: 72,
    place: text('deadlocks: C4', '处理死锁：C4'),
    claim: text(
      'If it has passed, C4 sends GETSET with the time plus the timeout plus 1.',
      '已过期时，C4 用 GETSET 写入当前时间加超时时间再加 1。',
    ),
    verdict: 'conditional',
    reason: text(
      'If C4 is not paused between reading its clock and sending GETSET (claim 48). On the 1 see claim 12.',
      '前提是读时钟与 GETSET 之间没有停顿（第 48 条）。关于加 1 见第 12 条。',
    ),
    rightForm: text('`SET … NX PX`', '`SET … NX PX`'),
    evidence: [
      replayed('timestamp-getset', 'take-over', 'aaxa...bbbbb', null),
      figure(
        'Whole seconds: with the 1 and the test <, a lease of 10 s lasts 11.001 to 12 s.',
        '时间取整到秒：加 1 且用 < 判断时，10 秒的锁持续 11.001～12 秒。',
      ),
    ],
  },
  {
    number: 73,
    place: text('deadlocks: C4', '处理死锁：C4'),
    claim: text(
      'C4 has the lock if the old value that GETSET returned is still a time that has passed.',
      'GETSET 返回的旧值仍是过期的时间戳，C4 就得到锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'Safe if no client is paused and the clocks agree. The interview asks for equality with the value that GET returned (claim 49). The two differ for a loser that is so late that the winner’s own time has passed: by this page it wins, by equality it loses, and has then renewed a lock that no client holds. Neither rule helps if a paused loser has moved the time back (claim 48).',
      '没有停顿、时钟一致时是安全的。面试题要求与 GET 到的值相等（第 49 条）。两者的差别在于落败者迟到太久、连胜者写入的时间都已过期的情形：按本页算成功；按相等规则算失败，而它刚刚又续上了一把没有持有者的锁。如果停顿过的落败者把时间改早了（第 48 条），两种规则都不管用。',
    ),
    rightForm: text('`SET … NX PX`', '`SET … NX PX`'),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      dialogue(
        ['SET lock.foo 100', 'OK'],
        ['GETSET lock.foo 210', '"100"'],
        ['GETSET lock.foo 350', '"210"'],
      ),
      figure(
        'Clock at 340: the GETSET that returns 210 wins by “has passed” and loses by “equal to 100”.',
        '时钟为 340 时，取回 210 的 GETSET 按“已过期”算成功，按“等于 100”算失败。',
      ),
      replayed('timestamp-getset', 'still-expired', 'aabbbzb.aa.cc.wbbb', 'prolonged-by-loser'),
      replayed('timestamp-getset', 'loser-prolongs', 'aaxa...bbbccczcbbxb...wccc', 'held-by-none', {
        crashes: 2,
      }),
    ],
  },
  {
    number: 74,
    place: text('deadlocks: C5', '处理死锁：C5'),
    claim: text(
      'If C5 was faster, C4 gets back a time that has not passed, and begins again.',
      '如果 C5 更快，C4 取回的是未过期的时间，只能从头重试。',
    ),
    verdict: 'conditional',
    reason: text(
      'Only one of the two can win, unless a client was paused since an earlier round (claim 54).',
      '两者只有一个能成功，除非有客户端从更早一轮停顿至今（第 54 条）。',
    ),
    rightForm: text('`SET … NX PX`', '`SET … NX PX`'),
    evidence: [
      replayed('timestamp-getset', 'take-over', 'aaxa...bbbbccccbc', null),
      searched('timestamp-getset', 'take-over'),
    ],
  },
  {
    number: 75,
    place: text('deadlocks: C5', '处理死锁：C5'),
    claim: text(
      'That C4 changed the key has no consequences.',
      'C4 修改了 key，但对以后没有影响。',
    ),
    verdict: 'wrong',
    reason: text(
      'Without a pause the end moves by a moment, and nothing else happens. When C4 was paused, the lock of C5 ends as much later as C4 was late, so the others wait longer if C5 crashes; or earlier, if C4 had computed its time before the pause, so that another client takes the lock while C5 works. If C5 has released meanwhile, C4 leaves a lock without a holder (claim 107).',
      '没有停顿时，到期时间只挪动一瞬，别无影响。如果 C4 停顿过：C5 的锁会推迟同样长的时间，C5 崩溃后其他人要多等；若 C4 在停顿之前就算好了时间，锁反而提前到期，C5 还在工作，锁就被别人拿走。如果 C5 已经释放，C4 还会留下一把没有持有者的锁（第 107 条）。',
    ),
    rightForm: text(
      '`SET … NX`: a request that fails changes nothing.',
      '`SET … NX`：失败的请求什么也不改。',
    ),
    evidence: [
      replayed(
        'timestamp-getset',
        'loser-prolongs',
        'aaxa...bbbzbccccc.wbbb',
        'prolonged-by-loser',
      ),
      figure(
        'Timeout of 10 s, C4 paused for 8 s: the lock of C5 ends 8 s late if C4 reads its clock after the pause, and 8 s early if before.',
        '超时 10 秒，C4 停顿 8 秒：停顿后才读时钟，C5 的锁推迟 8 秒到期；停顿前已读时钟，则提前 8 秒到期。',
      ),
    ],
  },
  {
    number: 76,
    place: text('the translator’s note', '译注'),
    claim: text(
      'The translator asks: what becomes of C5, whose end C4 has changed?',
      '译者问：C5 的过期时间被 C4 改了，怎么办？',
    ),
    verdict: 'right',
    reason: text(
      'The question is justified. C5 does not know the new end, and no later step of C5 sets it right. It does not go on for ever: each loser changes the end once (claim 56).',
      '问得对。C5 不知道新的到期时间，后面的步骤也不会改回来。但不会没完没了：每个落败者只改一次（第 56 条）。',
    ),
    rightForm: text(
      'A lease that only its owner can change: `SET … NX PX`, and a script that compares before it extends.',
      '只有持有者能改的租约：`SET … NX PX`，续期也用脚本先比较。',
    ),
    evidence: [
      replayed(
        'timestamp-getset',
        'loser-prolongs',
        'aaxa...bbbzbccccc.wbbb',
        'prolonged-by-loser',
      ),
      searched('watchdog', 'no-pause'),
    ],
  },
  {
    number: 77,
    place: text('warning', '警告'),
    claim: text(
      'The holder should often check that its lock has not ended.',
      '持有者应经常检查锁有没有过期。',
    ),
    verdict: 'conditional',
    reason: text(
      'It helps against slow work. It cannot help against a pause between the check and what follows it.',
      '对付缓慢的工作有用；检查之后、下一步之前发生的停顿，它管不了。',
    ),
    rightForm: text(
      '`lease.assertHeld()` before each effect, `lease.signal` for long requests, and the fence for the rest.',
      '每个操作之前 `lease.assertHeld()`，耗时的请求传入 `lease.signal`，其余靠防护令牌。',
    ),
    evidence: [
      searched('timestamp-getset-checked', 'no-pause'),
      replayed('timestamp-getset-checked', 'window', 'aa.aaza..bbbbbwaa', 'foreign-release'),
      tested(
        'test/lock-faults-process.test.ts',
        'beyond its lease sees the loss in the next statement',
      ),
    ],
  },
  {
    number: 78,
    place: text('warning', '警告'),
    claim: text(
      'A client that is blocked for long and then sends DEL may hit the lock of another.',
      '客户端阻塞很久之后再执行 DEL，锁可能已在别人手上。',
    ),
    verdict: 'right',
    reason: text('As claim 17.', '同第 17 条。'),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [
      replayed('timestamp-getset', 'unchecked-del', 'aa.aza..bbbbbwaa', 'foreign-release'),
    ],
  },
];
