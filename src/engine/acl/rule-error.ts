/** Why a rule of ACL SETUSER is wrong, with the texts of Redis 7.0. The last three are our own. */
const REASONS = {
  unknown: 'Unknown command or category name in ACL',
  syntax: 'Syntax error',
  'after-all-keys':
    "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
  'after-all-channels':
    "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
  'no-such-password': 'The password you are trying to remove from the user does not exist',
  'bad-hash':
    'The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters',
  'first-argument-of-subcommand': 'Allowing first-arg of a subcommand is not supported',
  'long-pattern': 'A pattern has at most 1024 bytes',
  'long-password': 'A password has at most 1024 bytes',
  'too-many': 'A user has at most 1000 rules',
} as const;

export type RuleReason = keyof typeof REASONS;

/** A rule of ACL SETUSER is wrong. */
export class RuleError extends Error {
  override readonly name = 'RuleError';
  readonly reason: RuleReason;

  constructor(reason: RuleReason) {
    super(REASONS[reason]);
    this.reason = reason;
  }
}
