// Bugs in the checks of users' rights.
import { mutant } from './mutant.js';

const ACL = 'src/engine/acl/acl.ts';
const SELECTOR = 'src/engine/acl/selector.ts';
const ACL_TEST = 'src/engine/acl/acl.test.ts';
const COMMANDS_TEST = 'src/engine/acl/every-command.test.ts';
const RULES_TEST = 'src/engine/acl/rules.test.ts';

export const ACL_MUTANTS = [
  mutant(
    'acl: commands of a transaction are checked when they are queued, and not by EXEC',
    'src/engine/commands/transactions.ts',
    'stillDenied(session, { command, argv }) ?? atOnce',
    'atOnce',
    [ACL_TEST],
  ),
  mutant(
    'acl: commands are not checked at dispatch',
    'src/engine/execute.ts',
    'if (session.user.mustCheck(command)) {',
    'if (session.user.isUnrestricted) {',
    [COMMANDS_TEST],
  ),
  mutant(
    'acl: keys that a command writes are checked as keys that it reads',
    SELECTOR,
    'if ((needs.read && !reads) || (needs.write && !writes)) continue;',
    'if ((needs.read || needs.write) && !reads) continue;',
    [COMMANDS_TEST],
  ),
  mutant(
    'acl: only the first key of a command is checked',
    SELECTOR,
    'for (const reference of keys) {',
    'for (const reference of keys.slice(0, 1)) {',
    [COMMANDS_TEST],
  ),
  mutant(
    'acl: a command whose keys cannot be known is allowed',
    SELECTOR,
    "if (keys === undefined) return { reason: 'key', at: 1 };",
    'if (keys === undefined) return undefined;',
    [COMMANDS_TEST],
  ),
  mutant(
    'acl: redis.call is not checked',
    'src/engine/script.ts',
    'if (this.#session.user.mustCheck(command)) {',
    'if (this.#session.user.isUnrestricted) {',
    [ACL_TEST],
  ),
  mutant(
    'acl: a script runs with the rights of the user that ran the last one',
    'src/engine/script.ts',
    '    session.user = caller.user;\n',
    '    session.user = this.#caller.user;\n',
    [ACL_TEST],
  ),
  mutant(
    'acl: selectors beside the root are ignored',
    'src/engine/acl/user.ts',
    'this.selectors = [state.root, ...state.selectors];',
    'this.selectors = [state.root];',
    [ACL_TEST],
  ),
  mutant(
    'acl: a selector that refuses a key or a channel allows the request',
    ACL,
    'if (denial === undefined) return undefined;\n      if (isWorse',
    "if (denial?.reason !== 'command') return undefined;\n      if (isWorse",
    [ACL_TEST],
  ),
  mutant(
    'acl: a subscriber that loses its channel stays',
    ACL,
    'if (!this.#mayStay(session)) close(session, caller);',
    'if (!this.#mayStay(session)) return;',
    [ACL_TEST],
  ),
  mutant(
    'acl: a blocked command that is no longer allowed stays',
    ACL,
    'if (denial !== undefined) blockedCommand.finish(denialReply(command, denial));',
    '',
    [ACL_TEST],
  ),
  mutant(
    'acl: connections of a deleted user stay',
    ACL,
    'for (const session of this.#sessionsOf(user)) close(session, caller);',
    '',
    [ACL_TEST],
  ),
  mutant(
    'acl: exit commands run with the rights of default',
    'src/engine/exit-commands.ts',
    '    this.#executor.user = user;\n',
    '',
    [ACL_TEST],
  ),
  mutant(
    'acl: PSUBSCRIBE needs a pattern that matches',
    SELECTOR,
    'if (isPattern) return this.#channels.includes(name);',
    'if (isPattern) return this.#channels.some((pattern) => matchesGlob(pattern, name));',
    [COMMANDS_TEST],
  ),
  mutant(
    'acl: a disabled user can sign in',
    'src/engine/acl/user.ts',
    'return state?.isEnabled === true && (state.hasNoPassword || isRight);',
    'return state !== undefined && (state.hasNoPassword || isRight);',
    [ACL_TEST],
  ),
  mutant(
    'acl: rules before a wrong one are applied',
    ACL,
    'for (const rule of joined.rules) state = attempt(state, rule, defaults);',
    'for (const rule of joined.rules) {\n      state = attempt(state, rule, defaults);\n      user?.replace(state);\n    }',
    [RULES_TEST],
  ),
  mutant(
    'acl: EVAL of any script is allowed to lock clients',
    SELECTOR,
    'this.commands.allowsWithKnownScript(command) && role.sendsKnownScript(command, argv)',
    'this.commands.allowsWithKnownScript(command)',
    ['test/acl-lock-role.test.ts'],
  ),
  mutant(
    'acl: lock clients see the names of all keys by the script of ls',
    ACL,
    'if (isAllowed) return () => true;',
    'if (isAllowed || user.selectors.length > 0) return () => true;',
    ['test/acl-lock-role.test.ts'],
  ),
  mutant(
    'acl: the destination of SORT is read as an option',
    'src/engine/commands/sort.ts',
    'store = ++at;',
    'store = at + 1;',
    [ACL_TEST],
  ),
  mutant(
    'acl: the first argument of a rule may have blanks',
    'src/engine/acl/command-rights.ts',
    ' || hasSpace(name)',
    '',
    [RULES_TEST],
  ),
  mutant(
    'acl: passwords are guessed inside of MULTI without a delay',
    'src/engine/sign-in.ts',
    'if (!session.mayBlock) throw NOT_IN_MULTI;',
    'if (!session.mayBlock) return evaluate();',
    ['src/engine/sign-in.test.ts'],
  ),
];
