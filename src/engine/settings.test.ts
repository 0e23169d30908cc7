import { describe, expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { createEngine } from './engine.ts';
import { isSecretSetting } from './settings.ts';

describe('settings', () => {
  it('have the given initial values, also fixed ones', () => {
    const { settings } = createEngine({ settings: { databases: '3', maxclients: '7' } });
    expect(settings.number('databases')).toBe(3);
    expect(settings.text('maxclients')).toBe('7');
    expect(settings.flag('appendonly')).toBe(false);
  });

  it('throw an error that names the invalid setting', () => {
    expect(() => createEngine({ settings: { maxclients: 'many' } })).toThrow(
      "maxclients: argument couldn't be parsed into an integer",
    );
    expect(() => createEngine({ settings: { nonsense: '1' } as object })).toThrow(
      "there is no setting 'nonsense'",
    );
  });

  it('can be set by the server when CONFIG SET may not', () => {
    const { settings } = createEngine({ clock: virtualClock() });
    settings.put('port', '7777');
    expect(settings.number('port')).toBe(7777);
  });

  it('isSecretSetting returns true for passwords', () => {
    expect(isSecretSetting('RequirePass')).toBe(true);
    expect(isSecretSetting('timeout')).toBe(false);
    expect(isSecretSetting('nonsense')).toBe(false);
  });

  it('set the budget of scripts', () => {
    const engine = createEngine({ settings: { 'script-budget-steps': '1000' } });
    expect(engine.scriptBudgetSteps).toBe(1000);
    engine.settings.change(['script-budget-steps', '0', 'script-budget-ms', '20']);
    expect(engine.scriptBudgetSteps).toBe(Number.POSITIVE_INFINITY);
    expect(engine.scriptBudgetMs).toBe(20);
  });
});
