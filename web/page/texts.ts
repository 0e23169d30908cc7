import { isolated } from './visible-text.ts';

export type Language = 'en' | 'zh';

/** A text of the page in the present language. `values` fill in `{name}`; `{n lock|locks}` is the number with the right word. */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return TEXTS[key][language === 'en' ? 0 : 1].replaceAll(
    /\{(\w+)(?: ([^|}]+)\|([^}]+))?\}/g,
    (_, name: string, one?: string, many?: string) => {
      const value = values[name] ?? '';
      if (one === undefined) return shown(value);
      return `${shown(value)} ${value === 1 ? one : many}`;
    },
  );
}

export function setLanguage(to: Language): void {
  language = to;
}

export function currentLanguage(): Language {
  return language;
}

/** `12,345` in both languages. */
export function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

let language: Language = 'en';

function shown(value: string | number): string {
  return typeof value === 'number' ? numberText(value) : isolated(value);
}

export type TextKey = keyof typeof TEXTS;

/** English and Chinese. Between backquotes: code. */
const TEXTS = {
  skip: ['Skip to the content', '跳到内容'],
  views: ['Views', '视图'],
  language: ['Language', '语言'],
  theme: ['Colours', '配色'],
  themeSystem: ['As the system', '跟随系统'],
  themeLight: ['Light', '浅色'],
  themeDark: ['Dark', '深色'],
  locks: ['Locks', '锁'],
  waits: ['Wait-for graph', '等待图'],
  contention: ['Contention', '竞争'],
  losses: ['Losses', '丢失'],
  clients: ['Clients', '客户端'],
  server: ['Server', '服务器'],
  foot: [
    'Holdfast {version}. A time that is shown comes from the clock of the page’s server.',
    'Holdfast {version}。页面上的时间以本页服务器的时钟为准。',
  ],

  stateConnecting: ['Connecting', '正在连接'],
  stateOpen: ['Live', '实时'],
  stateReconnecting: ['Reconnecting', '正在重新连接'],
  stateRefused: ['Refused', '被拒绝'],
  stateFailed: ['Store does not answer', '存储没有应答'],
  connecting: ['Connecting to the page’s server …', '正在连接本页的服务器……'],
  reconnecting: [
    'The connection to the page’s server is lost. What you see is from {time}. The page connects again by itself.',
    '与本页服务器的连接已断开。您看到的是 {time} 的数据。页面会自动重新连接。',
  ],
  refused: [
    'The server refuses this page: a restart of the server ends its link. Open the address that the server has printed last, in this tab or in another one of this browser: then this page goes on by itself.',
    '服务器拒绝了本页：服务器重启后，原链接即失效。请在本标签页或同一浏览器的另一个标签页中打开服务器最近一次打印的地址，本页随后会自动恢复。',
  ],
  failed: [
    'The store does not answer: {message}. The locks are the last that are known, from {time}.',
    '存储没有应答：{message}。显示的是 {time} 时最后已知的锁。',
  ],
  cut: [
    'The store has more locks than this page shows. Locks that are not in the list are missing in all views.',
    '存储中的锁多于本页能显示的数量。未列出的锁在所有视图中都不出现。',
  ],
  historyProcess: [
    'Times and events are those that this process saw itself. Other clients have events that are not shown here; run `holdfast serve` to see all.',
    '时间和事件只包含本进程自己看到的。其他客户端的事件不在这里；使用 `holdfast serve` 可以看到全部。',
  ],
  historyNone: [
    'This store keeps no history, so the page knows no events. `holdfast serve` keeps one.',
    '这个存储不保存历史，因此本页没有事件。`holdfast serve` 会保存历史。',
  ],
  missed: [
    '{n event was|events were} dropped before this page could read them.',
    '有 {n} 个事件在本页读取之前已被丢弃。',
  ],

  figureHeld: ['locks held', '被持有的锁'],
  figureWaiting: ['requests waiting', '等待中的请求'],
  figureLongest: ['longest wait', '最长等待'],
  figureLost: ['lost in the last hour', '最近一小时丢失'],
  figureNone: ['none', '无'],
  unknown: ['unknown', '未知'],
  filter: ['Filter by name or client', '按名称或客户端筛选'],
  filterHint: ['Press / to type here', '按 / 键即可输入'],
  kinds: ['Kinds', '类型'],
  kindAll: ['All', '全部'],
  mutex: ['Mutex', '互斥锁'],
  semaphore: ['Semaphore', '信号量'],
  rw: ['Read/write', '读写锁'],
  columnName: ['Lock', '锁'],
  columnKind: ['Kind', '类型'],
  columnHolder: ['Holder', '持有者'],
  columnHeld: ['Held for', '已持有'],
  columnLeft: ['Lease left', '租约剩余'],
  columnFence: ['Fence', '防护令牌'],
  columnWaiters: ['Waiters', '等待者'],
  heldShort: ['held', '已持有'],
  leftShort: ['left', '剩余'],
  sortBy: ['Sort by', '排序'],
  shownLocks: ['{n lock|locks} shown', '显示 {n} 个锁'],
  more: ['+{n}', '+{n}'],
  free: ['free', '空闲'],
  noEnd: ['does not end', '不会到期'],
  ended: ['ended', '已到期'],
  foreign: ['foreign client', '外部客户端'],
  keptWithout: ['no holder', '无持有者'],
  emptyLocks: ['No lock is held now.', '目前没有被持有的锁。'],
  emptyLocksHow: ['Make one in a terminal:', '可以在终端里创建一个：'],
  emptyLocksThen: [
    'It appears here at once, and goes when the command ends.',
    '它会立即出现在这里，命令结束后消失。',
  ],
  noMatch: ['No lock matches the filter.', '没有符合筛选条件的锁。'],
  clearFilter: ['Clear the filter', '清除筛选'],

  back: ['All locks', '所有锁'],
  lockFree: ['This lock is free.', '这个锁目前空闲。'],
  lockUnknown: [
    'No lock with this address is held, and the history has no event of it.',
    '没有持有中的锁对应这个地址，历史中也没有它的事件。',
  ],
  detailsFailed: ['The details could not be read: {message}', '无法读取详情：{message}'],
  holders: ['Holders', '持有者'],
  holder: ['Holder', '持有者'],
  queue: ['Queue', '等待队列'],
  queueEmpty: ['No request waits for this lock.', '没有请求在等待这个锁。'],
  queueLeft: ['{n more waits|more wait} behind these.', '后面还有 {n} 个。'],
  holdersLeft: ['{n more holds|more hold} this lock.', '另有 {n} 个持有者。'],
  place: ['Place', '位置'],
  owner: ['Owner', '所有者标识'],
  client: ['Client', '客户端'],
  permits: ['Permits', '许可'],
  waitingFor: ['Waiting for', '已等待'],
  holdsMeanwhile: ['holds {n other lease|other leases} meanwhile', '同时持有另外 {n} 个租约'],
  timeline: ['Timeline', '时间线'],
  timelineLabel: [
    'Timeline of the newest {n grant|grants}. The table below has the same events as text.',
    '最近 {n} 次授予的时间线。下方表格以文字列出同样的事件。',
  ],
  timelineEmpty: ['The history has no grant of this lock.', '历史中没有这个锁的授予。'],
  legendWaits: ['waits', '等待'],
  legendHolds: ['holds', '持有'],
  legendHandOver: ['hand-over', '移交'],
  legendLoss: ['loss', '丢失'],
  legendForced: ['forced release', '强制释放'],
  events: ['Events', '事件'],
  eventsEmpty: ['No events yet.', '尚无事件。'],
  time: ['Time', '时间'],
  event: ['Event', '事件'],
  details: ['Details', '详情'],
  fenceIs: ['fence {fence}', '防护令牌 {fence}'],
  heldFor: ['held for {time}', '持有 {time}'],
  waitedFor: ['waited for {time}', '等待 {time}'],
  forcedReleases: ['Forced releases', '强制释放记录'],
  forcedBy: ['{by} ended {n lease|leases}', '{by} 结束了 {n} 个租约'],
  reason: ['Reason', '原因'],
  release: ['Release by force …', '强制释放……'],
  releaseTitle: ['Release this lock by force?', '强制释放这个锁？'],
  releaseWhat: [
    'This ends all leases of the lock, and the first waiter gets it. The holder is not stopped: its program goes on until it notices. It is only fenced off: a resource that checks fences refuses its late writes, because the next grant has a larger fence. A resource that does not check fences may see two writers.',
    '这会结束这个锁的所有租约，队列中第一个等待者随即获得锁。持有者不会被停止：它的程序会继续运行，直到自己发现。它只是被隔离：检查防护令牌的资源会拒绝它迟到的写入，因为下一次授予的防护令牌更大。不检查防护令牌的资源可能会遇到两个写入者。',
  ],
  releaseReason: ['Reason, for the record', '原因（会被记录）'],
  releaseDo: ['Release', '释放'],
  cancel: ['Cancel', '取消'],
  close: ['Close', '关闭'],
  released: ['{n lease was|leases were} ended.', '已结束 {n} 个租约。'],
  releaseFailed: ['The lock was not released: {message}', '锁未被释放：{message}'],

  waiting: ['waits', '开始等待'],
  left: ['left the queue', '离开队列'],
  granted: ['was granted the lock', '被授予锁'],
  'handed-over': ['got it by hand-over', '通过移交获得'],
  stole: ['stole the lock', '强占了锁'],
  adopted: ['adopted the lease', '接管了租约'],
  releasedEvent: ['released it', '释放了锁'],
  expired: ['lease expired', '租约到期'],
  stolen: ['lost it: stolen', '丢失：被强占'],
  forced: ['lost it: released by force', '丢失：被强制释放'],
  transferred: ['transferred the lease', '转交了租约'],
  'session-ended': ['lost it: session ended', '丢失：会话结束'],

  waitsAbout: [
    'Tasks that wait for one lock while they hold another, on all machines. An arrow leads from a task to the lock it waits for, and from a lock to the task that holds it.',
    '各台机器上持有一个锁的同时又等待另一个锁的任务。箭头从任务指向它等待的锁，再从锁指向持有它的任务。',
  ],
  waitsEmpty: [
    'No task waits for a lock while it holds another.',
    '没有任务在持有锁的同时等待另一个锁。',
  ],
  waitsEmptyWhy: [
    'Only a request made inside a `run()` callback reports the leases that its callback holds. Requests with `acquire()` appear in the queue of their lock, but not here.',
    '只有在 `run()` 回调内部发出的请求才会报告该回调持有的租约。用 `acquire()` 发出的请求出现在锁的等待队列中，但不出现在这里。',
  ],
  waitsUnsupported: [
    'The waiters of this store do not report what they hold.',
    '这个存储的等待者不报告它们持有什么。',
  ],
  waitsSupported: [
    '`holdfast serve`, Redis and Valkey have a wait-for graph.',
    '`holdfast serve`、Redis 和 Valkey 提供等待图。',
  ],
  waitsNow: [
    '{n request waits|requests wait} now without holding a lock.',
    '目前有 {n} 个请求在等待，且未持有锁。',
  ],
  cycles: ['{n deadlock|deadlocks}', '{n} 个死锁'],
  noCycles: ['No deadlock: no arrows form a circle.', '没有死锁：箭头没有形成环。'],
  cycleStep: [
    '{task} waits for {lock}, which {holder} holds',
    '{task} 等待 {lock}，它由 {holder} 持有',
  ],
  cycleAdvice: [
    'None of these can go on. Acquire locks in the same order everywhere, or all at once with `locks.all(names)`; to end this one, release one of its locks by force.',
    '它们都无法继续。请在所有地方按相同顺序获取锁，或用 `locks.all(names)` 一次获取；要结束当前死锁，可强制释放其中一个锁。',
  ],
  graphLabel: [
    'Graph of {tasks} tasks and {locks} locks. The list of edges is below it.',
    '包含 {tasks} 个任务和 {locks} 个锁的图。下方列出全部的边。',
  ],
  graphLeft: ['{n more node is|more nodes are} not drawn.', '另有 {n} 个节点未画出。'],
  edges: ['Edges as text', '以文字列出的边'],
  edgeWaits: ['{task} waits for {lock}', '{task} 等待 {lock}'],
  edgeHeld: ['{lock} is held by {task}', '{lock} 由 {task} 持有'],
  otherWaiters: ['{n more waits|more wait}', '另有 {n} 个等待'],

  contentionAbout: [
    'Names are grouped: `order:17` and `order:18` are `order:*`. The stronger the colour of a minute, the more requests had to wait in it.',
    '名称按组统计：`order:17` 和 `order:18` 属于 `order:*`。颜色越强，该分钟内需要等待的请求越多。',
  ],
  contentionWait: ['The first figures come in a few seconds.', '几秒后会出现第一批数据。'],
  contentionEmpty: ['No request had to wait in the last hour.', '最近一小时没有请求需要等待。'],
  heatLabel: [
    '{group}: {n wait|waits}, most of them at {time} ({max})',
    '{group}：{n} 次等待，最多在 {time}（{max} 次）',
  ],
  heatHint: [
    'Point at a minute, or focus the map and use the arrow keys.',
    '指向某一分钟，或聚焦后用方向键移动。',
  ],
  heatCell: [
    '{group}, {time}: {waits wait|waits} ({waited} in all), {grants grant|grants}',
    '{group}，{time}：{waits} 次等待（共 {waited}），{grants} 次授予',
  ],
  heatMap: ['Waits by group and minute', '各组每分钟的等待次数'],
  showAll: ['Show all {n} groups', '显示全部 {n} 组'],
  little: ['few', '少'],
  most: ['most', '多'],
  waitTimes: ['Wait times', '等待时间'],
  holdTimes: ['Hold times', '持有时间'],
  histogramLabel: [
    '{n value|values}, half of them up to {p50}, 99 % up to {p99}',
    '共 {n} 个值，一半不超过 {p50}，99 % 不超过 {p99}',
  ],
  histogramEmpty: ['No values in the last hour.', '最近一小时没有数据。'],
  atMost: ['at most {time}', '不超过 {time}'],
  moreThan: ['more than {time}', '超过 {time}'],
  count: ['Count', '数量'],
  upTo: ['Up to', '上限'],
  asTable: ['As a table', '以表格显示'],

  lossesAbout: [
    'A loss is a lease that ended before its holder released it. The holder’s `lease.signal` aborts, and the next grant has a larger fence.',
    '丢失是指租约在持有者释放之前就结束了。持有者的 `lease.signal` 会中止，下一次授予的防护令牌更大。',
  ],
  lossesEmpty: ['No lease was lost in the last hour.', '最近一小时没有租约丢失。'],
  lossCount: ['{n loss|losses} in the last hour', '最近一小时 {n} 次'],
  whatToDo: ['What to do', '怎么办'],
  recent: ['Recent', '最近'],
  lossExpired: ['The lease expired', '租约到期'],
  lossExpiredWhy: [
    'The holder did not renew it in time: its event loop was blocked, its machine paused, its process died, or it could not reach the store.',
    '持有者没有及时续期：事件循环被阻塞、机器暂停、进程死亡，或连不上存储。',
  ],
  lossExpiredDo: [
    "Look for long synchronous work in the holder and move it to a worker; use `renewFrom: 'worker'`; pass the fence to the resource; lengthen the lease if the machine pauses.",
    "查找持有者中耗时的同步工作，移到 worker 中；使用 `renewFrom: 'worker'`；把防护令牌传给资源；如果机器会暂停，请加长租约。",
  ],
  lossStolen: ['Another client stole the lock', '被其他客户端强占'],
  lossStolenWhy: [
    'A client called `acquire({ steal: true, reason })`. That is a decision of a program or of a person.',
    '有客户端调用了 `acquire({ steal: true, reason })`。这是程序或人的决定。',
  ],
  lossStolenDo: [
    'Find the call by its reason in the history. If it happens often, the holder keeps the lock too long: give it `maxHold`.',
    '按历史中的原因找到该调用。如果经常发生，说明持有时间过长：请设置 `maxHold`。',
  ],
  lossForced: ['Released by force', '被强制释放'],
  lossForcedWhy: [
    'A person used this page, `holdfast release --force` or `forceRelease()`.',
    '有人使用了本页、`holdfast release --force` 或 `forceRelease()`。',
  ],
  lossForcedDo: [
    'The reason is on the page of the lock. Check that the former holder has stopped, and that its late writes were refused.',
    '原因见该锁的页面。请确认原持有者已停止，且其迟到的写入已被拒绝。',
  ],
  lossSession: ['The session ended', '会话结束'],
  lossSessionWhy: [
    'The process of the holder ended or lost its connection to the server, so its locks were free at once.',
    '持有者的进程结束或与服务器断开，它的锁随即空闲。',
  ],
  lossSessionDo: [
    'Nothing, if the process was meant to end. Otherwise look into its log for a crash, and into its network for broken connections.',
    '如果进程本应结束，则无需处理。否则请在其日志中查找崩溃，并检查网络连接。',
  ],
  lossOther: ['Other: {reason}', '其他：{reason}'],
  lossOtherDo: ['See the troubleshooting page of the docs.', '请参阅文档中的故障排查页。'],

  clientsAbout: [
    'Processes by host and process id, and what each holds and waits for.',
    '按主机和进程号列出各进程持有和等待的锁。',
  ],
  clientsEmpty: ['No process holds or waits for a lock.', '没有进程持有或等待锁。'],
  clientsCut: [
    'Some locks have more holders or waiters than the ten that are counted here.',
    '有些锁的持有者或等待者多于这里统计的十个。',
  ],
  holds: ['Holds', '持有'],
  waitsFor: ['Waits for', '等待'],
  clientsLeft: ['{n more client is|more clients are} not shown.', '另有 {n} 个客户端未显示。'],
  showLocks: ['Show in the list of locks', '在锁列表中显示'],

  serverWait: ['The first figures come in a few seconds.', '几秒后会出现第一批数据。'],
  serverNone: [
    'This store is not `holdfast serve`, so it reports no figures.',
    '这个存储不是 `holdfast serve`，因此没有服务器数据。',
  ],
  memory: ['Memory', '内存'],
  memoryOf: ['{used} of {max}', '{used} / {max}'],
  memoryNoLimit: ['No limit is set.', '未设置上限。'],
  log: ['Log', '日志'],
  logNone: ['No log: a restart forgets all locks.', '没有日志：重启会丢失所有锁。'],
  logGood: [
    'All that was acknowledged is on disk, or on its way.',
    '已确认的写入都已落盘或正在落盘。',
  ],
  logBad: [
    'The log cannot be written. The server refuses writes.',
    '日志无法写入。服务器拒绝写请求。',
  ],
  logPending: ['waiting to be written', '等待写入'],
  connections: ['Connections', '连接'],
  blocked: ['{n of them is blocked|of them are blocked}', '其中 {n} 个在阻塞'],
  commands: ['Commands per second', '每秒命令数'],
  commandsLabel: [
    'Commands per second, now {now}, at most {max}',
    '每秒命令数，当前 {now}，最高 {max}',
  ],
  keys: ['Keys', '键'],
  uptime: ['Uptime', '运行时间'],
  slow: ['Slow commands', '慢命令'],
  slowEmpty: ['No command was slow.', '没有慢命令。'],
  took: ['Took', '耗时'],
  command: ['Command', '命令'],
} as const satisfies Record<string, readonly [string, string]>;
