import { expect, it } from 'vitest';
import { schemaSql } from './schema.ts';

it('is the SQL file of the package (vitest run <this file> -u writes it)', async () => {
  await expect(schemaSql('holdfast')).toMatchFileSnapshot('../../../sql/holdfast.sql');
});

it('names only the given schema', () => {
  const text = schemaSql('"other"');
  expect(text).toContain('create schema if not exists "other";');
  expect(text).not.toMatch(/holdfast\./);
});
