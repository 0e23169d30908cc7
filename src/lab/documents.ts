import type { Text } from './recipe.ts';

/** The documents whose recipes and claims the lab checks. */
export const DOCUMENTS = {
  notes: {
    title: 'SETNX 命令',
    about: {
      en: 'Notes on SETNX, in Chinese: from the command to the release by a script',
      zh: '关于 SETNX 的笔记：从命令本身一直到用脚本释放锁',
    },
  },
  interview: {
    title: '使用过Redis分布式锁么，它是什么回事？',
    about: {
      en: 'An interview question, in Chinese: option 1 with SETNX and EXPIRE, option 2 with GETSET',
      zh: '一道面试题：方案一用 SETNX 和 EXPIRE，方案二用 GETSET',
    },
  },
  reference: {
    title: 'SETNX（Redis 命令参考）',
    about: {
      en: 'The page on SETNX in the Chinese translation of the Redis command reference',
      zh: 'Redis 命令参考中文译本的 SETNX 一页',
    },
  },
  article: {
    title: '谈谈Redis的Setnx',
    about: {
      en: 'An article, in Chinese: a cache that is refreshed under a lock, with PHP samples',
      zh: '一篇文章：在锁的保护下刷新缓存，带有 PHP 示例',
    },
  },
  manual: {
    title: 'SetnxCommand (Redis Documentation)',
    about: {
      en: 'The page on SETNX in an early Redis manual, in English',
      zh: '早期 Redis 手册（英文）的 SETNX 一页',
    },
  },
} as const satisfies Record<string, { readonly title: string; readonly about: Text }>;

export type DocumentName = keyof typeof DOCUMENTS;
