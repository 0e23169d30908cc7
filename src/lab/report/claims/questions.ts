import type { Text } from '../../index.ts';
import { text } from './claim.ts';

/** Questions that the documents ask or leave open, with answers and the claims that support them. */
export interface Question {
  readonly question: Text;
  readonly answer: Text;
  /** The claims that have the reasons and the evidence. */
  readonly claims: readonly number[];
}

export const QUESTIONS: readonly Question[] = [
  {
    question: text(
      'Interview, question 1: can several clients get the lock by GETSET?',
      '面试题，问题 1：多个客户端会不会都用 GETSET 拿到锁？',
    ),
    answer: text(
      'No, unless a client was paused before its GETSET since an earlier round. Only the first GETSET can return the old value: every value that is written is larger.',
      '不会，除非有客户端从更早一轮起就停在 GETSET 之前。只有第一个 GETSET 能取回旧值，因为之后写入的值都更大。',
    ),
    claims: [54, 49, 55],
  },
  {
    question: text(
      'Interview, question 2, and the translator of the reference: does the losing client extend the lock for ever?',
      '面试题，问题 2，以及命令参考的译注：落败者会不会让锁一直延长？',
    ),
    answer: text(
      'No. Each late loser moves the end once. In all it moves by the lateness of the last one: 500 ms for five losers that are 100 to 500 ms late.',
      '不会。每个迟到的落败者只推迟一次，总共推迟的时间等于最后一个落败者迟到的时间：5 个落败者迟到 100～500 毫秒，总共推迟 500 毫秒。',
    ),
    claims: [56, 76],
  },
  {
    question: text(
      'Reference and manual: is it harmless that the loser changes the key?',
      '命令参考和手册：落败者改了 key，真的没有影响吗？',
    ),
    answer: text(
      'Not if the loser was paused. The lock of the winner then ends later or earlier by the length of the pause, or stays without a holder.',
      '落败者停顿过就有影响：胜者的锁会推迟或提前到期，幅度等于停顿的时间；还可能留下一把没有持有者的锁。',
    ),
    claims: [75, 103, 48, 107],
  },
  {
    question: text('Interview: can the error be ignored?', '面试题：这个误差可以忽略吗？'),
    answer: text(
      'Yes, while losers are a few milliseconds late: the error is as large as the loser is late. After a pause of 8 s it is 8 s.',
      '落败者只迟到几毫秒时可以，误差就这么大。停顿 8 秒，误差就是 8 秒。',
    ),
    claims: [57, 48],
  },
  {
    question: text('What is the + 1 for?', '为什么要加 1？'),
    answer: text(
      'Whole seconds are rounded down. Without the 1, and with <=, a lease can end up to a second early.',
      '时间向下取整到秒。用 <= 判断又不加 1，锁最多会提前一秒到期。',
    ),
    claims: [12, 72],
  },
  {
    question: text('Manual: <= or <?', '手册：用 <= 还是 <？'),
    answer: text(
      'The manual has both. In whole seconds < lets the lease last a second longer. Either is safe with the 1.',
      '手册里两种都有。以整秒计，用 < 时锁多持续一秒。只要加了 1，两种都安全。',
    ),
    claims: [100, 47, 68],
  },
  {
    question: text(
      'Notes: how much less likely is “much less likely”?',
      '笔记：“概率大大降低”到底降低多少？',
    ),
    answer: text(
      'With steps drawn at random, 0.56 % of the runs remove the lock of another client in place of 4.3 %: the pause must fall between GET and DEL. With compare and delete there is none.',
      '若每一步随机选取，误删别人的锁从 4.3 % 降到 0.56 %：停顿必须落在 GET 与 DEL 之间。改成比较并删除，就不会失败。',
    ),
    claims: [24, 23],
  },
  {
    question: text('Article: what does a garbage collection do?', '文章：GC 停顿会怎样？'),
    answer: text(
      'With GET and DEL it removes the lock of another client. With compare and delete it does not, but the paused holder may still write late: that takes a fence.',
      '用 GET 和 DEL，会删掉别人的锁。用比较并删除则不会，但停顿的持有者仍可能迟到写入，要靠防护令牌（fencing token）。',
    ),
    claims: [95, 96, 18],
  },
  {
    question: text(
      'Interview: is the add of memcached as good, and as fast?',
      '面试题：memcached 的 add 一样好、一样快吗？',
    ),
    answer: text(
      'About as fast: Redis ran 1.03 to 1.05 times as many locks a second. As a lock it is as good with gets and cas, but counts in whole seconds and may evict the lock.',
      '速度差不多：每秒加锁次数，Redis 是 memcached 的 1.03～1.05 倍。配合 gets 和 cas，作为锁一样好；但只能按整秒计时，而且锁可能被淘汰。',
    ),
    claims: [37, 38, 39],
  },
  {
    question: text(
      'Interview: one lock for all, or one for each item?',
      '面试题：一把锁，还是每个对象一把锁？',
    ),
    answer: text(
      'One for each item, if the items do not touch each other: 200 ms in place of 2000 ms for 100 requests on 10 items.',
      '对象之间互不相关时，每个对象一把锁：100 个请求、10 个对象，2000 毫秒变成 200 毫秒。',
    ),
    claims: [30],
  },
  {
    question: text(
      'Notes: which lock for a task that may run twice, and for one that must not?',
      '笔记：可以重复执行的任务和不能重复的任务，各用什么锁？',
    ),
    answer: text(
      'May: a short lease without renewal. Must not: renewal, and a fence in the resource.',
      '可以重复：短租约、不续期。不能重复：自动续期，并由资源检查防护令牌。',
    ),
    claims: [19, 18, 92],
  },
  {
    question: text('What about servers older than Redis 2.6.12?', 'Redis 版本早于 2.6.12 怎么办？'),
    answer: text(
      'Their SET has no NX, EX and PX. From 2.6.0 on a script does the same, from 2.2 on WATCH with SETEX.',
      '那时 SET 没有 NX、EX、PX。从 2.6.0 起可以用脚本，从 2.2 起可以用 WATCH 加 SETEX。',
    ),
    claims: [6, 7, 88],
  },
  {
    question: text('Are SETNX and GETSET deprecated?', 'SETNX 和 GETSET 弃用了吗？'),
    answer: text(
      'In the command table of Redis 7.0.15 GETSET is, since 6.2.0; SETNX is not. Later pages call SETNX deprecated too, since 2.6.12. SET with NX or GET replaces both.',
      '在 Redis 7.0.15 的命令表里，GETSET 自 6.2.0 起弃用，SETNX 没有；更新的文档把 SETNX 也标为自 2.6.12 起弃用。两者都可以用 SET 的 NX、GET 代替。',
    ),
    claims: [9, 44],
  },
];
