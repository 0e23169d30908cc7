import { dialogue, figure, type Row, replayed, searched, tested, text } from './claim.ts';

const COMPARE_AND_DELETE =
  "EVAL \"return redis.call('get',KEYS[1])==ARGV[1] and redis.call('del',KEYS[1]) or 0\" 1";

export const NOTES: readonly Row[] = [
  {
    number: 1,
    place: text('the command', '命令说明'),
    claim: text(
      'SETNX stores the value only if the key does not exist.',
      '只有 key 不存在时，SETNX 才写入。',
    ),
    verdict: 'right',
    reason: text(
      'The check and the write are one command, so two clients cannot both succeed.',
      '检查和写入是同一条命令，两个客户端不可能都成功。',
    ),
    rightForm: null,
    evidence: [
      dialogue(['SETNX door anna', '(integer) 1'], ['SETNX door ben', '(integer) 0']),
      searched('setnx-only', 'no-crash'),
    ],
  },
  {
    number: 2,
    place: text('the command', '命令说明'),
    claim: text('On an existing key SETNX does nothing.', 'key 已存在时，SETNX 什么也不做。'),
    verdict: 'right',
    reason: text(
      'Value, type and TTL stay as they are, also when the key is no string.',
      '值、类型、TTL 都保持不变；key 不是字符串时也一样。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        ['SET door anna EX 100', 'OK'],
        ['SETNX door ben', '(integer) 0'],
        ['GET door', '"anna"'],
        ['TTL door', '(integer) 100'],
        ['RPUSH queue first', '(integer) 1'],
        ['SETNX queue ben', '(integer) 0'],
        ['TYPE queue', 'list'],
      ),
    ],
  },
  {
    number: 3,
    place: text('the command', '命令说明'),
    claim: text('The name abbreviates “SET if Not eXists”.', '命令名是“不存在则 SET”的英文缩写。'),
    verdict: 'right',
    reason: text(
      'The name says what the command does; it has no options.',
      '名字就是它的行为；它没有任何选项。',
    ),
    rightForm: null,
    evidence: [
      dialogue([
        'SETNX door anna EX 100',
        "(error) ERR wrong number of arguments for 'setnx' command",
      ]),
    ],
  },
  {
    number: 4,
    place: text('the command', '命令说明'),
    claim: text(
      '“SETNX” today usually means SET with NX.',
      '现在大家说的 SETNX，多半指带 NX 的 SET。',
    ),
    verdict: 'right',
    reason: text(
      'Both decide in the same way. The replies differ: 1 and 0 from SETNX, OK and nil from SET. Code that moves from one to the other must change its test.',
      '两者的判断相同，回复不同：SETNX 回 1 和 0，SET 回 OK 和 nil。换命令时，判断结果的代码也要改。',
    ),
    rightForm: text('`SET key token NX PX 30000`', '`SET key token NX PX 30000`'),
    evidence: [
      dialogue(
        ['SET door anna NX', 'OK'],
        ['SET door ben NX', '(nil)'],
        ['SETNX door ben', '(integer) 0'],
      ),
    ],
  },
  {
    number: 5,
    place: text('the command', '命令说明'),
    claim: text(
      'SET has the options EX or PX, NX or XX, and KEEPTTL.',
      'SET 支持 EX 或 PX、NX 或 XX，以及 KEEPTTL。',
    ),
    verdict: 'conditional',
    reason: text(
      'This is the list of Redis 6.0. Redis 6.2 added GET, EXAT and PXAT; from 7.0 on NX and GET go together.',
      '这是 Redis 6.0 的选项。6.2 增加了 GET、EXAT、PXAT；7.0 起 NX 和 GET 可以同时使用。',
    ),
    rightForm: text(
      '`SET key token NX GET PX 30000` also returns the token of the holder.',
      '`SET key token NX GET PX 30000` 还会返回当前持有者的值。',
    ),
    evidence: [
      dialogue(
        ['SET door anna NX PX 30000', 'OK'],
        ['SET door ben XX KEEPTTL', 'OK'],
        ['SET door carl NX GET PX 30000', '"ben"'],
        ['SET door dora NX XX', '(error) ERR syntax error'],
      ),
    ],
  },
  {
    number: 6,
    place: text('two commands before 2.6.12', '2.6.12 之前的两条命令'),
    claim: text('Before Redis 2.6.12 SET had no NX.', 'Redis 2.6.12 之前，SET 没有 NX。'),
    verdict: 'right',
    reason: text(
      'Redis itself says so: COMMAND DOCS lists EX, PX, NX and XX as added in 2.6.12.',
      'Redis 自己的 COMMAND DOCS 就写着：EX、PX、NX、XX 在 2.6.12 加入。',
    ),
    rightForm: text(
      'Every server in use today has it: take the lock with one SET.',
      '如今在用的服务器都支持：用一条 SET 加锁。',
    ),
    evidence: [
      figure(
        'redis-server 7.0.15 dates the options EX, PX, NX and XX of SET to 2.6.12.',
        'redis-server 7.0.15 的命令表：SET 的 EX、PX、NX、XX 始于 2.6.12。',
      ),
      tested('test/command-facts.test.ts', 'COMMAND DOCS %s has the same facts'),
    ],
  },
  {
    number: 7,
    place: text('two commands before 2.6.12', '2.6.12 之前的两条命令'),
    claim: text(
      'Without NX in SET a lock with an end takes two commands: SETNX, then EXPIRE.',
      'SET 没有 NX 时，带过期时间的锁要两条命令：先 SETNX，再 EXPIRE。',
    ),
    verdict: 'conditional',
    reason: text(
      'It is what most programs did. WATCH, EXISTS, MULTI, SETEX and EXEC did it safely from 2.2 on, and from 2.6.0 on a script does both in one step (claim 88).',
      '多数程序确实这样写。但从 2.2 起，用 WATCH、EXISTS、MULTI、SETEX、EXEC 就能安全地做到；从 2.6.0 起，脚本可以一步完成（见第 88 条）。',
    ),
    rightForm: text('`SET key token NX EX 30`', '`SET key token NX EX 30`'),
    evidence: [
      dialogue(
        ['SETNX door anna', '(integer) 1'],
        ['TTL door', '(integer) -1'],
        ['EXPIRE door 30', '(integer) 1'],
        ['TTL door', '(integer) 30'],
      ),
      dialogue(
        ['WATCH door', 'OK'],
        ['EXISTS door', '(integer) 0'],
        ['MULTI', 'OK'],
        ['SETEX door 30 anna', 'QUEUED'],
        ['EXEC', '1) OK'],
        ['TTL door', '(integer) 30'],
      ),
    ],
  },
  {
    number: 8,
    place: text('two commands before 2.6.12', '2.6.12 之前的两条命令'),
    claim: text(
      'A process that dies between the two commands leaves a lock without an end.',
      '进程在两条命令之间退出，锁就没有过期时间。',
    ),
    verdict: 'right',
    reason: text(
      'Nothing removes the key, so all others wait for ever.',
      '没有谁会删除这个 key，其他客户端只能一直等。',
    ),
    rightForm: text(
      'Value and end in one command: `SET … NX PX`.',
      '值和过期时间用一条 SET … NX PX 写入。',
    ),
    evidence: [replayed('setnx-then-expire', 'crash', 'axa', 'held-for-ever')],
  },
  {
    number: 9,
    place: text('two commands before 2.6.12', '2.6.12 之前的两条命令'),
    claim: text(
      'The page on SET warns that SETNX, SETEX and PSETEX may be deprecated and removed.',
      'SET 的文档提醒：SETNX、SETEX、PSETEX 以后可能弃用并删除。',
    ),
    verdict: 'conditional',
    reason: text(
      'SET replaces all three. The command table of 7.0.15 marks none of them as deprecated, and all of them work; it does mark GETSET, since 6.2.0. The pages of later versions call SETNX and SETEX deprecated, since 2.6.12. None was removed.',
      'SET 可以替代这三条命令。7.0.15 的命令表没有把它们标为弃用，三条都能用；被标为弃用的是 GETSET（自 6.2.0）。更新版本的文档则把 SETNX 和 SETEX 标为自 2.6.12 起弃用。目前都没有删除。',
    ),
    rightForm: text(
      'New code: SET with NX, EX or PX; instead of GETSET, SET with GET.',
      '新代码用 SET 的 NX、EX、PX；GETSET 改用 `SET … GET`。',
    ),
    evidence: [
      figure(
        'COMMAND DOCS of redis-server 7.0.15: GETSET is deprecated since 6.2.0; SETNX, SETEX and PSETEX are not.',
        'redis-server 7.0.15 的 COMMAND DOCS：GETSET 自 6.2.0 起弃用；SETNX、SETEX、PSETEX 没有。',
      ),
      dialogue(
        ['GETSET door anna', '(nil)'],
        ['SET door ben GET', '"anna"'],
        ['SETEX seat 30 anna', 'OK'],
        ['PSETEX seat 30000 ben', 'OK'],
      ),
      tested('test/command-facts.test.ts', 'COMMAND DOCS %s has the same facts'),
    ],
  },
  {
    number: 10,
    place: text('return value', '返回值'),
    claim: text(
      'SETNX returns 1 if it set the key and 0 if not.',
      '写入成功返回 1，没有写入返回 0。',
    ),
    verdict: 'right',
    reason: text('The reply is an integer, never nil.', '回复是整数，不会是 nil。'),
    rightForm: null,
    evidence: [
      dialogue(
        ['SETNX door anna', '(integer) 1'],
        ['SETNX door anna', '(integer) 0'],
        ['DEL door', '(integer) 1'],
        ['SETNX door ben', '(integer) 1'],
      ),
    ],
  },
  {
    number: 11,
    place: text('example', '例子'),
    claim: text(
      'A dialogue with curly quotes around the values, in which GET returns the word in quotes.',
      '例子用中文引号包住值，GET 返回带引号的词。',
    ),
    verdict: 'conditional',
    reason: text(
      'The numbers are right. Typed as printed, the curly quotes become part of the value, and GET shows their bytes.',
      '数字是对的。照原样输入时，中文引号会成为值的一部分，GET 显示的是它们的字节。',
    ),
    rightForm: text('Straight quotes, or none.', '用英文引号，或者不用引号。'),
    evidence: [
      dialogue(
        ['SETNX word “hi”', '(integer) 1'],
        ['GET word', '"\\xe2\\x80\\x9chi\\xe2\\x80\\x9d"'],
        ['SETNX other "hi"', '(integer) 1'],
        ['GET other', '"hi"'],
      ),
    ],
  },
  {
    number: 12,
    place: text('a lock with SETNX', '用 SETNX 实现锁'),
    claim: text(
      'The value to store is the Unix time plus the timeout plus 1.',
      '写入的值是当前 Unix 时间加超时时间再加 1。',
    ),
    verdict: 'conditional',
    reason: text(
      'The 1 makes up for whole seconds. The clock is rounded down, so without the 1 a reader that tests with <= ends the lease up to a second early. With < it is not needed, and makes the lease longer by a second. Clients whose clock has milliseconds need no 1.',
      '加 1 是为了弥补取整：时间向下取整到秒，如果用 <= 判断又不加 1，锁最多会提前一秒到期。用 < 判断时不需要加 1，加了就多一秒。时间精确到毫秒时也不需要。',
    ),
    rightForm: text(
      '`SET key token NX PX 30000`: the server counts the time, in milliseconds.',
      '`SET key token NX PX 30000`：由服务器计时，精确到毫秒。',
    ),
    evidence: [
      figure(
        'Timeout of 10 s, whole seconds. Tested with <=: the lease lasts 9.001 to 10 s without the 1, and 10.001 to 11 s with it. Tested with <: 10.001 to 11 s without, and 11.001 to 12 s with it.',
        '超时 10 秒，时间取整到秒。用 <= 判断：不加 1 时锁持续 9.001～10 秒，加 1 时 10.001～11 秒。用 < 判断：不加 1 时 10.001～11 秒，加 1 时 11.001～12 秒。',
      ),
      searched('timestamp-getset', 'at-or-before'),
      replayed('timestamp-getset', 'without-plus-one', 'aa.bbbb.aa.bb.ccccc', 'two-live-leases'),
    ],
  },
  {
    number: 13,
    place: text('a lock with SETNX', '用 SETNX 实现锁'),
    claim: text(
      'Reply 1: the process has the lock, and the value says when it ends.',
      '返回 1：进程得到锁，值就是锁的到期时间。',
    ),
    verdict: 'conditional',
    reason: text(
      'If the process was not paused since it read its clock: else the time may have passed already. The end is only a note to the other clients: the server does not act on it.',
      '前提是读时钟之后没有停顿，否则写入时可能已经过期。到期时间只是写给其他客户端看的，服务器不会据此删除 key。',
    ),
    rightForm: text(
      'Let the server end the lease: `SET … NX PX`.',
      '让服务器负责到期：`SET … NX PX`。',
    ),
    evidence: [
      dialogue(
        ['SETNX lock.foo 1700000011', '(integer) 1'],
        ['GET lock.foo', '"1700000011"'],
        ['TTL lock.foo', '(integer) -1'],
      ),
      replayed('timestamp-getset', 'unchecked-del', 'aza...waabbbbb', 'two-awake-inside'),
    ],
  },
  {
    number: 14,
    place: text('a lock with SETNX', '用 SETNX 实现锁'),
    claim: text(
      'Reply 0: another process has the lock; SETNX can be sent again in a loop.',
      '返回 0：别的进程持有锁，可以循环重试 SETNX。',
    ),
    verdict: 'right',
    reason: text(
      'Every retry costs a request, and the order of waiters is left to chance.',
      '每次重试都是一次请求，谁先拿到锁全看运气。',
    ),
    rightForm: text(
      "`locks.mutex('foo').acquire({ wait: '10s' })`: the waiter queues and is notified.",
      "`locks.mutex('foo').acquire({ wait: '10s' })`：排队等待，轮到时得到通知。",
    ),
    evidence: [
      replayed('setnx-only', 'no-crash', 'ab.aab', null),
      tested('src/lock/lock.test.ts', 'grants the lock in order of arrival'),
    ],
  },
  {
    number: 15,
    place: text('deadlock 1: a timeout', '死锁之一：超时'),
    claim: text(
      'A holder that dies or loses its connection leaves the others waiting for ever, if nothing releases the lock.',
      '持有者退出或断线，又没有别的释放机制，其他进程就会一直等。',
    ),
    verdict: 'right',
    reason: text(
      'A lost reply has the same effect: SETNX was executed, and the client does not know it.',
      '回复丢失也一样：SETNX 已经执行，客户端却不知道。',
    ),
    rightForm: text(
      'A lease; or `holdfast run --session`, whose lock ends with the connection.',
      '给锁加租约；或用 `holdfast run --session`，连接断开锁就释放。',
    ),
    evidence: [
      replayed('setnx-only', 'crash', 'axa', 'held-for-ever'),
      replayed('setnx-only', 'lost-reply', 'la', 'held-for-ever'),
      tested(
        'test/cli-hold-session.test.ts',
        'killed: the lock is free at once, and no earlier than the command is dead',
      ),
    ],
  },
  {
    number: 16,
    place: text('deadlock 1: a timeout', '死锁之一：超时'),
    claim: text(
      'The others compare the stored time with the clock and take the lock when it has passed.',
      '其他进程检查值里的时间，过期后就有机会拿到锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'Only if the take-over is one atomic step, and the clocks of the clients agree. DEL and SETNX as two steps give the lock to two clients.',
      '前提是接管是一个原子步骤，而且各客户端的时钟一致。分成 DEL 和 SETNX 两步，锁会被两个客户端同时拿到。',
    ),
    rightForm: text(
      'A TTL on the key; without it, GETSET and a comparison (claim 49).',
      '给 key 设 TTL；做不到时，用 GETSET 加比较（第 49 条）。',
    ),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      replayed('timestamp-del-setnx', 'crash', 'aaxa...bbbbcccbbccc', 'two-awake-inside'),
    ],
  },
  {
    number: 17,
    place: text('deadlock 2: deleting the lock', '死锁之二：删除锁'),
    claim: text(
      'A holder that takes longer than the timeout deletes the lock of the next holder.',
      '持有者超时后仍执行 DEL，删掉的是下一个持有者的锁。',
    ),
    verdict: 'right',
    reason: text('DEL does not look at whose lock it is.', 'DEL 不看锁是谁的。'),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [replayed('set-nx-ex-del', 'pause', 'a.aza.bwaa', 'foreign-release')],
  },
  {
    number: 18,
    place: text('deadlock 2: deleting the lock', '死锁之二：删除锁'),
    claim: text(
      'A task that must not run twice, such as a payment, needs a lock that lasts long enough or is extended.',
      '不能重复执行的任务（如扣款），锁要够长，或者定期续期。',
    ),
    verdict: 'conditional',
    reason: text(
      'Renewal is enough while the holder runs. A holder that is paused for longer than its lease can still act twice, whatever the length; only the resource can refuse its late write.',
      '持有者正常运行时，续期就够了。但停顿超过租约的持有者仍可能重复执行，租约多长都一样；只有资源自己能拒绝迟到的写入。',
    ),
    rightForm: text(
      "`locks.mutex('account:7').run(pay, { lease: '30s' })` renews by default; give `lease.fence` to the database, which refuses a smaller one.",
      "`locks.mutex('account:7').run(pay, { lease: '30s' })` 默认自动续期；把 `lease.fence` 交给数据库，由它拒绝更小的防护令牌（fencing token）。",
    ),
    evidence: [
      replayed('watchdog', 'no-renewal', 'a..b', 'two-awake-inside'),
      searched('watchdog', 'no-pause'),
      searched('fenced', 'pause', ['two-inside']),
      tested('test/lock-faults-process.test.ts', 'lose no update with the fence'),
    ],
  },
  {
    number: 19,
    place: text('deadlock 2: deleting the lock', '死锁之二：删除锁'),
    claim: text(
      'A task that may run twice, such as a report, can let others take the lock after the timeout.',
      '可以重复执行的任务（如统计），超时后允许其他进程拿锁。',
    ),
    verdict: 'right',
    reason: text(
      'The lock then only saves work. A short lease without renewal lets the next process start soon if the first one hangs.',
      '这时锁只是为了省力。租约短、不续期，前一个卡住后，下一个很快就能开始。',
    ),
    rightForm: text(
      "`locks.mutex('report').run(count, { lease: '30s', renew: false, wait: 0 })`",
      "`locks.mutex('report').run(count, { lease: '30s', renew: false, wait: 0 })`",
    ),
    evidence: [
      replayed('watchdog', 'no-renewal', 'a..b', 'two-awake-inside'),
      tested(
        'src/lock/lock.test.ts',
        'grants the lock at the end of the lease of a holder that does not release it',
      ),
    ],
  },
  {
    number: 20,
    place: text('deadlock 2: deleting the lock', '死锁之二：删除锁'),
    claim: text(
      'The value should be a process ID that is unique, or a UUID.',
      '值应是唯一的进程 ID 或 UUID。',
    ),
    verdict: 'conditional',
    reason: text(
      'A UUID is right, if it is another one for each acquisition. A process ID is not unique: other machines have the same one, and so has the same process when it locks again. A release then deletes a lock that is not its own.',
      'UUID 可以，但每次加锁都要换一个。进程 ID 并不唯一：别的机器上会有相同的，同一进程再次加锁时也相同，释放时就会删掉不属于自己的锁。',
    ),
    rightForm: text('A random UUID for each acquisition.', '每次加锁生成一个随机 UUID。'),
    evidence: [
      searched('set-nx-px-lua-del', 'no-pause'),
      dialogue(
        // Process 4711 of one machine is slow, and its lease ends.
        ['SET door 4711 NX PX 30000', 'OK'],
        ['DEL door', '(integer) 1'],
        // Process 4711 of another machine takes the lock, and the slow one releases it.
        ['SET door 4711 NX PX 30000', 'OK'],
        [`${COMPARE_AND_DELETE} door 4711`, '(integer) 1'],
        ['EXISTS door', '(integer) 0'],
      ),
    ],
  },
  {
    number: 21,
    place: text('pseudo-code of take and release', '加锁和解锁的伪代码'),
    claim: text(
      'Take with SET NX PX and a UUID; at the end delete the key if GET returns that UUID.',
      '用 SET NX PX 写入 UUID 加锁；结束时 GET 到的仍是它，才 DEL。',
    ),
    verdict: 'conditional',
    reason: text(
      'Right unless the lease ends between GET and DEL (claim 23), and if the reply of SET is checked (claim 22).',
      '只要租约不在 GET 与 DEL 之间到期（第 23 条），并且检查了 SET 的返回值（第 22 条），就没有问题。',
    ),
    rightForm: text(
      'The same SET, and a script for the release (claim 25).',
      'SET 不变，用脚本释放（第 25 条）。',
    ),
    evidence: [
      searched('set-nx-px-get-del', 'pause', [], { pauses: 0 }),
      replayed('set-nx-px-get-del', 'pause', 'a.aaza.bwaa', 'foreign-release'),
    ],
  },
  {
    number: 22,
    place: text('pseudo-code of take and release', '加锁和解锁的伪代码'),
    claim: text(
      'After SET the work begins: the sample does not look at the reply.',
      'SET 之后直接开始业务处理，示例没有检查返回值。',
    ),
    verdict: 'wrong',
    reason: text(
      'SET with NX does not fail with an error: it returns nil. A program that ignores this works without the lock, and two clients are inside after two commands.',
      'NX 条件不满足时 SET 不报错，只返回 nil。不看返回值，就等于没加锁：两条命令之后就有两个客户端同时执行。',
    ),
    rightForm: text(
      'Work only if the reply is OK; else wait or return.',
      '返回 OK 才能继续，否则等待或返回。',
    ),
    evidence: [
      dialogue(
        ['SET door anna NX PX 3000', 'OK'],
        ['SET door ben NX PX 3000', '(nil)'],
        ['GET door', '"anna"'],
      ),
      replayed('set-nx-px-get-del', 'unchecked', 'ab', 'two-awake-inside'),
    ],
  },
  {
    number: 23,
    place: text('pseudo-code of take and release', '加锁和解锁的伪代码'),
    claim: text(
      'GET and DEL are two steps, so the release is unsafe.',
      'GET 和 DEL 是两步，解锁仍不安全。',
    ),
    verdict: 'right',
    reason: text(
      'The lease can end between the two, and DEL then removes the lock of another client.',
      '租约可能恰好在两步之间到期，DEL 就删掉了别人的锁。',
    ),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [replayed('set-nx-px-get-del', 'pause', 'a.aaza.bwaa', 'foreign-release')],
  },
  {
    number: 24,
    place: text('pseudo-code of take and release', '加锁和解锁的伪代码'),
    claim: text(
      'The check before DEL makes the failure much less likely.',
      '先检查再 DEL，出问题的概率大大降低。',
    ),
    verdict: 'conditional',
    reason: text(
      'Less likely, not impossible. The pause must now fall between two commands, no longer anywhere in the work: if each next step is drawn at random, 0.56 % of the runs fail in place of 4.3 %. The shortest failing run has 9 steps in place of 8, and a client is never wrong about its own lock (silent-loss holds).',
      '概率降低，但没有消除。停顿必须恰好落在两条命令之间，而不是工作中的任何时刻：若每一步随机选取，失败的运行从 4.3 % 降到 0.56 %。最短的失败从 8 步变成 9 步，客户端也不会误以为自己还持有锁（silent-loss 不再出现）。',
    ),
    rightForm: text(
      'Compare and delete in one step: the failure is then impossible.',
      '比较和删除一步完成，问题就不会发生。',
    ),
    evidence: [
      figure(
        'Three clients, one crash and one pause at any step, each next step drawn at random: a plain DEL removes the lock of another client in 4.3 % of the runs, DEL after a check in 0.56 %, compare and delete in 0 %.',
        '3 个客户端，任意一步可能崩溃或停顿各一次，每一步随机选取：普通 DEL 误删别人的锁，占 4.3 % 的运行；先检查再 DEL，0.56 %；比较并删除，0 %。',
      ),
      replayed('set-nx-ex-del', 'pause', 'a.aza.bwaa', 'foreign-release'),
      replayed('set-nx-px-get-del', 'pause', 'a.aaza.bwaa', 'foreign-release'),
      searched('set-nx-px-lua-del', 'pause', ['two-inside', 'late-write']),
    ],
  },
  {
    number: 25,
    place: text('the right way to delete', '删除锁的正确方式'),
    claim: text(
      'A script deletes the key if its value is the one given, and returns 0 if not.',
      '脚本比较值，相同才删除，否则返回 0。',
    ),
    verdict: 'right',
    reason: text(
      'No other client can act between the comparison and the DEL.',
      '比较与删除之间，别的客户端插不进来。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        [`${COMPARE_AND_DELETE} door anna`, '(integer) 0'],
        ['SET door anna NX PX 30000', 'OK'],
        [`${COMPARE_AND_DELETE} door ben`, '(integer) 0'],
        [`${COMPARE_AND_DELETE} door anna`, '(integer) 1'],
        ['EXISTS door', '(integer) 0'],
      ),
      tested('src/engine/script.test.ts', 'delete a lock only if it is ours'),
    ],
  },
  {
    number: 26,
    place: text('the right way to delete', '删除锁的正确方式'),
    claim: text('EVAL or EVALSHA runs the script.', '脚本用 EVAL 或 EVALSHA 执行。'),
    verdict: 'right',
    reason: text(
      'EVALSHA saves the bytes of the script. After a restart the server does not know it: send EVAL on NOSCRIPT.',
      'EVALSHA 省去传输脚本。服务器重启后会忘记脚本：收到 NOSCRIPT 就改发 EVAL。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        [
          'EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0',
          '(error) NOSCRIPT No matching script. Please use EVAL.',
        ],
        ['SCRIPT LOAD "return 1"', '"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"'],
        ['EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0', '(integer) 1'],
      ),
    ],
  },
  {
    number: 27,
    place: text('the right way to delete', '删除锁的正确方式'),
    claim: text(
      'A script is one command: the others see nothing of it until it has ended.',
      '脚本作为一条命令执行，结束之前其他客户端看不到中间状态。',
    ),
    verdict: 'right',
    reason: text(
      'Nothing runs in between. This is not a rollback: what a script wrote before an error stays.',
      '中间不会插入别的命令。但这不是回滚：脚本出错之前写入的内容会保留。',
    ),
    rightForm: null,
    evidence: [
      searched('set-nx-px-lua-del', 'no-pause'),
      tested('src/engine/script.test.ts', 'keep what they wrote before an error of their own'),
    ],
  },
  {
    number: 28,
    place: text('the right way to delete', '删除锁的正确方式'),
    claim: text('The script is one of the right ways to release.', '用脚本是正确的释放方式之一。'),
    verdict: 'right',
    reason: text(
      'No client removes the lock of another, with crashes and pauses. What no release can prevent is a paused holder that writes late: that takes a fence.',
      '无论崩溃还是停顿，都不会删掉别人的锁。解锁方式管不到的是停顿后的迟到写入，那要靠防护令牌。',
    ),
    rightForm: text(
      'Other right ways: WATCH, GET, MULTI, DEL, EXEC; on holdfast serve also DELIFEQ and DELEX … IFEQ; in the library, `lease.release()`.',
      '其他正确方式：WATCH、GET、MULTI、DEL、EXEC；holdfast serve 还有 DELIFEQ 和 DELEX … IFEQ；库里用 `lease.release()`。',
    ),
    evidence: [
      searched('set-nx-px-lua-del', 'pause', ['two-inside', 'late-write']),
      tested('src/engine/commands/strings.test.ts', 'frees only what is ours'),
    ],
  },
];
