import { dialogue, figure, type Row, replayed, searched, text } from './claim.ts';

export const IMPLIED: readonly Row[] = [
  {
    number: 106,
    place: text('every recipe with a time as its value', '所有以时间为值的写法'),
    claim: text('The clocks of all clients agree.', '所有客户端的时钟一致。'),
    verdict: 'conditional',
    reason: text(
      'If they are kept in step, and never set by more than the margin of the lease. A client that is 3 s ahead takes a lock over that has not ended.',
      '前提是做好时钟同步，而且调整幅度不超过租约的余量。快 3 秒的客户端会接管尚未到期的锁。',
    ),
    rightForm: text('A TTL: only the clock of the server counts.', '用 TTL：只认服务器的时钟。'),
    evidence: [
      replayed('timestamp-getset', 'skewed-clocks', '+abbaaaaa', 'two-awake-inside'),
      searched('set-nx-px-lua-del', 'skewed-clocks'),
    ],
  },
  {
    number: 107,
    place: text('every recipe with GETSET', '所有用 GETSET 的写法'),
    claim: text(
      'GETSET of a loser always finds the lock of the winner.',
      '落败者执行 GETSET 时，胜者的锁一定还在。',
    ),
    verdict: 'wrong',
    reason: text(
      'If the winner has released by then, GETSET returns nil and creates the key. The loser sees that nil is not the old time, and goes away: the lock has no holder, and all wait until its time has passed.',
      '如果胜者已经释放，GETSET 返回 nil，同时创建了 key。落败者看到 nil 不等于旧时间，便离开了：锁没有持有者，所有人都要等到它过期。',
    ),
    rightForm: text(
      'Take nil for success: the lock was free, and the key is now yours. Better, `SET … NX PX`.',
      '把 nil 当作成功：锁本来就空着，现在归你。最好用 `SET … NX PX`。',
    ),
    evidence: [
      dialogue(
        ['SET lock.foo 100', 'OK'],
        ['GETSET lock.foo 210', '"100"'],
        ['DEL lock.foo', '(integer) 1'],
        ['GETSET lock.foo 211', '(nil)'],
        ['SETNX lock.foo 212', '(integer) 0'],
      ),
      figure(
        'Timeout of 10 s: after the winner’s release and the GETSET of the loser, the next client waits for 10 s, though no client holds the lock.',
        '超时 10 秒：胜者释放、落败者 GETSET 之后，虽然没有人持有锁，下一个客户端也要等 10 秒。',
      ),
      replayed('timestamp-getset', 'left-by-loser', 'aabbbzb.aa..wbbb', 'held-by-none'),
    ],
  },
];
