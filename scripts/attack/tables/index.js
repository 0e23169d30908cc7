import { COMBINED_ATTACKS } from './combined.js';
import { CONNECTION_ATTACKS } from './connections.js';
import { FILL_ATTACKS } from './fill.js';
import { ISSUE_ATTACKS } from './issue.js';
import { LUA_ATTACKS } from './lua.js';
import { REQUEST_ATTACKS } from './requests.js';
import { SLOW_READER_ATTACKS } from './slow-readers.js';

export { CONTROLS } from './control.js';

export const ATTACKS = [
  ...ISSUE_ATTACKS,
  ...REQUEST_ATTACKS,
  ...SLOW_READER_ATTACKS,
  ...CONNECTION_ATTACKS,
  ...FILL_ATTACKS,
  ...LUA_ATTACKS,
  ...COMBINED_ATTACKS,
];
