// Copies the declarations that the entries of the package need, and no others.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Modules are named by their paths without a suffix: `public/engine`. */
export function copyTypes(from, to, modules) {
  const needed = [...modules];
  for (const module of needed) {
    const text = withDirectImports(module, from);
    for (const target of imports(module, text)) {
      if (!needed.includes(target)) needed.push(target);
    }
    mkdirSync(dirname(join(to, module)), { recursive: true });
    writeFileSync(join(to, `${module}.d.ts`), text);
  }
}

/** `import { type A, B } from '../x/index.ts'`, or the same with `export`. */
const NAMED = /^(import|export)( type)? \{([^}]*)\} from '(\.[^']+)\.ts';$/gm;
const ANY = /(?:from|import\()\s*['"](\.[^'"]+)\.[jt]s['"]/g;

/**
 * An index leads to all of its folder. A name is imported from the file that declares it instead, with the suffix
 * that compilers before 5.7 know.
 */
function withDirectImports(module, from) {
  const text = readFileSync(join(from, `${module}.d.ts`), 'utf8');
  const direct = text.replace(NAMED, (_, verb, type = '', names, path) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => {
        const exported = name.replace(/^type /, '').split(' as ')[0];
        const target = declaring(join(dirname(module), path), exported, from);
        return `${verb}${type} { ${name} } from '${specifier(module, target)}';`;
      })
      .join('\n'),
  );
  return direct.replace(/((?:from|import\()\s*['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2');
}

/** The module that declares a name: behind an index, or behind its index. A name that is renamed on the way stays there. */
function declaring(module, name, from) {
  const text = readFileSync(join(from, `${module}.d.ts`), 'utf8');
  for (const [, verb, , names, path] of text.matchAll(NAMED)) {
    const exported = names.split(',').map((each) => each.trim().replace(/^type /, ''));
    if (verb !== 'export' || !exported.includes(name)) continue;
    return declaring(join(dirname(module), path), name, from);
  }
  return module;
}

function imports(module, text) {
  return [...text.matchAll(ANY)].map(([, path]) => join(dirname(module), path));
}

function specifier(module, target) {
  const path = relative(dirname(module), target);
  return `${path.startsWith('.') ? '' : './'}${path}.js`;
}
