import catalog from 'virtual:catalog';
import type { Text } from '../../src/lab/index.ts';
import { countText } from '../../src/lab/report/words.ts';
import { FindingMark } from './parts/marks.tsx';
import { useText } from './preferences.ts';

/** The gallery: every recipe with its verdicts. */
export function StartView() {
  const text = useText();
  return (
    <article class="page wide">
      <h1>{text({ en: 'The lab', zh: '锁实验室' })}</h1>
      <p class="lead">{text(LEAD)}</p>
      <p class="lead">{text(totals())}</p>
      <p class="start-links">
        <a class="button primary" href="#/tutorial/1">
          {text({
            en: 'Tutorial: from SETNX to a lock that holds',
            zh: '教程：从 SETNX 到一把靠得住的锁',
          })}
        </a>{' '}
        <a class="button" href="#/edit">
          ✎ {text({ en: 'Break it yourself', zh: '亲手弄坏它' })}
        </a>
      </p>
      <ul class="cards">
        {catalog.recipes.map(({ name, about, variants }) => (
          <li key={name} class="card">
            <h2>
              <a href={`#/recipe/${name}`}>{name}</a>
            </h2>
            <p>{text(about)}</p>
            <ul class="card-variants">
              {variants.map((variant) => (
                <li key={variant.name}>
                  <a href={`#/recipe/${name}/${variant.name}`}>{variant.name}</a>{' '}
                  <FindingMark finding={variant.finding} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </article>
  );
}

const LEAD: Text = {
  en: 'Lock recipes that look right, run through all interleavings: every step of a client can come before or after every step of the others, and clients crash or are paused. Step through the shortest run that breaks each one, in your browser, on the real engine.',
  zh: '看起来正确的加锁算法，在所有可能的执行顺序下会怎样：每个客户端的每一步都可能先于或后于其他客户端的任何一步，客户端还可能崩溃或停顿。就在浏览器里，用真正的引擎，逐步走过让每个算法失败的最短运行。',
};

function totals(): Text {
  const findings = catalog.recipes.flatMap(({ variants }) =>
    variants.map(({ finding }) => finding),
  );
  const runs = countText(
    findings.reduce((sum, { interleavings }) => sum + BigInt(interleavings), 0n),
  );
  const states = countText(findings.reduce((sum, each) => sum + each.states, 0));
  const [recipes, worlds] = [catalog.recipes.length, findings.length];
  return {
    en: `${recipes} recipes in ${worlds} worlds: ${runs} interleavings, merged into ${states} states.`,
    zh: `${recipes} 个算法，${worlds} 种环境：共 ${runs} 种交错，归并为 ${states} 个状态。`,
  };
}
