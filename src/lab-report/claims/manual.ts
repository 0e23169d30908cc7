import { dialogue, figure, type Row, replayed, searched, tested, text } from './claim.ts';

export const MANUAL: readonly Row[] = [
  {
    number: 98,
    place: text('description', '命令说明'),
    claim: text(
      'SETNX is SET, except that it does nothing if the key exists.',
      'SETNX 与 SET 相同，只是 key 已存在时不做任何操作。',
    ),
    verdict: 'conditional',
    reason: text(
      'True of what is stored. The replies differ (1 and 0, not OK), SETNX takes no options, and SET replaces a key of any type.',
      '就写入的内容而言没错。但回复不同（1 和 0，不是 OK），SETNX 没有选项，而 SET 会覆盖任何类型的 key。',
    ),
    rightForm: text(
      'SET … NX is SET with this one difference.',
      '真正“只差这一点”的是 `SET … NX`。',
    ),
    evidence: [
      dialogue(
        ['SETNX seat anna', '(integer) 1'],
        ['SET seat ben', 'OK'],
        ['SETNX seat carl', '(integer) 0'],
        ['RPUSH queue first', '(integer) 1'],
        ['SETNX queue anna', '(integer) 0'],
        ['SET queue anna', 'OK'],
      ),
    ],
  },
  {
    number: 99,
    place: text('locking', '加锁'),
    claim: text(
      'On 0 the client returns, or retries in a loop until it succeeds or a timeout expires.',
      '返回 0 时，客户端直接返回，或循环重试直到成功或超时。',
    ),
    verdict: 'right',
    reason: text('As claims 65 and 66.', '同第 65、66 条。'),
    rightForm: text(
      '`tryAcquire()` for the one, `acquire({ wait })` for the other.',
      '前者用 `tryAcquire()`，后者用 `acquire({ wait })`。',
    ),
    evidence: [
      tested('src/lock/lock.test.ts', 'returns null from tryAcquire() if the lock is busy'),
      tested('src/lock/lock.test.ts', 'rejects with LockTimeoutError that says how long it waited'),
    ],
  },
  {
    number: 100,
    place: text('deadlocks', '处理死锁'),
    claim: text(
      'A lock whose time is smaller than or equal to the current one is no longer valid.',
      '时间小于或等于当前时间，锁就失效。',
    ),
    verdict: 'conditional',
    reason: text(
      'Right together with the 1 that is added. The page contradicts itself: in the steps of C4 the time must be older, that is, smaller. In whole seconds the two differ by one second, and a client that uses < never takes the lock earlier than one that uses <=. With <= and without the 1 the lease ends up to a second early.',
      '与加 1 配合使用时是对的。但该页前后矛盾：在 C4 的步骤里，要求时间“更早”，即小于。以整秒计，两者相差一秒；用 < 的客户端不会比用 <= 的更早拿到锁。用 <= 又不加 1，锁最多会提前一秒到期。',
    ),
    rightForm: text(
      'The same comparison in all clients; better, a TTL.',
      '所有客户端用同一种比较；最好用 TTL。',
    ),
    evidence: [
      figure(
        'Timeout of 10 s with the 1, whole seconds: the lease lasts 10.001 to 11 s by <=, and 11.001 to 12 s by <.',
        '超时 10 秒、加 1、时间取整到秒：用 <= 判断，锁持续 10.001～11 秒；用 < 判断，持续 11.001～12 秒。',
      ),
      searched('timestamp-getset', 'at-or-before'),
      replayed('timestamp-getset', 'without-plus-one', 'aa.bbbb.aa.bb.ccccc', 'two-live-leases'),
    ],
  },
  {
    number: 101,
    place: text('deadlocks: C4', '处理死锁：C4'),
    claim: text(
      'If the lock has not ended, C4 sleeps for a second, say, and begins again.',
      '锁未到期时，C4 休眠一秒左右，再从头开始。',
    ),
    verdict: 'right',
    reason: text(
      'The pause decides how long a free lock stays idle: up to a second here.',
      '休眠时间决定了锁空闲多久才被发现：这里最多一秒。',
    ),
    rightForm: text(
      'A waiter of the library is notified in place of polling.',
      '库里的等待者不轮询，而是得到通知。',
    ),
    evidence: [
      replayed('timestamp-getset', 'take-over', 'aabbbb', null),
      searched('holdfast-mutex', 'no-pause'),
    ],
  },
  {
    number: 102,
    place: text('deadlocks: C4', '处理死锁：C4'),
    claim: text(
      'C4 has the lock if the value that GETSET returned is still an expired time.',
      'GETSET 返回的旧值仍是过期的时间，C4 就得到锁。',
    ),
    verdict: 'conditional',
    reason: text('As claim 73.', '同第 73 条。'),
    rightForm: text('`SET … NX PX`', '`SET … NX PX`'),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      dialogue(['SET lock.foo 100', 'OK'], ['GETSET lock.foo 210', '"100"']),
      replayed('timestamp-getset', 'still-expired', 'aabbbzb.aa.cc.wbbb', 'prolonged-by-loser'),
    ],
  },
  {
    number: 103,
    place: text('deadlocks: C5', '处理死锁：C5'),
    claim: text(
      'That C4 has moved the key a few seconds into the future is no problem.',
      'C4 把时间往后挪了几秒，不成问题。',
    ),
    verdict: 'wrong',
    reason: text(
      'As claim 75: a few seconds are as many as C4 was late. If C4 was paused after it computed its time, the key moves back, not forward, and C5 loses its lock while it works.',
      '同第 75 条：挪动多少取决于 C4 迟到多久。如果 C4 在算出时间之后停顿，时间不是往后而是往前挪，C5 还在工作，锁就没了。',
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
        'Timeout of 10 s, C4 paused for 8 s after it computed its time: the lock of C5 ends after 2 s.',
        '超时 10 秒，C4 算出时间后停顿 8 秒：C5 的锁 2 秒后就到期。',
      ),
    ],
  },
  {
    number: 104,
    place: text('important note', '重要提示'),
    claim: text(
      'A holder should check that its timeout has not passed before it sends DEL.',
      '持有者在 DEL 之前应检查是否已超时。',
    ),
    verdict: 'conditional',
    reason: text(
      'The check helps against slow work, not against a pause between the check and DEL.',
      '检查能对付缓慢的工作，对付不了检查与 DEL 之间的停顿。',
    ),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [
      searched('timestamp-getset-checked', 'no-pause'),
      replayed('timestamp-getset', 'unchecked-del', 'aa.aza..bbbbbwaa', 'foreign-release'),
      replayed('timestamp-getset-checked', 'window', 'aa.aaza..bbbbbwaa', 'foreign-release'),
    ],
  },
  {
    number: 105,
    place: text('the page as a whole', '全文'),
    claim: text(
      'A lock of SETNX, GET, GETSET and DEL is a pattern that can be recommended.',
      '用 SETNX、GET、GETSET、DEL 做锁是值得推荐的模式。',
    ),
    verdict: 'conditional',
    reason: text(
      'It needs clocks that agree and clients that are never paused. Already before 2.6.12, WATCH with SETEX took a lock with a TTL without these (claim 7). With SET NX PX and a script there are never two live leases, whatever clocks and pauses do; what remains is the late write (claim 96).',
      '它要求时钟一致、客户端没有停顿。早在 2.6.12 之前，用 WATCH 加 SETEX 就能做出带 TTL 的锁，不需要这些前提（第 7 条）。SET NX PX 加脚本，无论时钟和停顿如何，都不会同时有两个有效租约；剩下的只有迟到的写入（第 96 条）。',
    ),
    rightForm: text(
      '`SET key token NX PX 30000`, and compare and delete; or this library.',
      '`SET key token NX PX 30000`，比较并删除；或使用本库。',
    ),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      searched('set-nx-px-lua-del', 'pause', ['two-inside', 'late-write']),
      searched('set-nx-px-lua-del', 'skewed-clocks'),
    ],
  },
];
