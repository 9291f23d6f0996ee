// Texts with things hidden in them, and the questions for these: the kinds of test that RULER (Hsieh et al. 2024) names, with
// sentences of our own. One text serves several questions, so that it is read once.
import * as hay from './haystacks.mjs';
import { draw, numbers, seeded } from './random.mjs';

/** Tokens kept free for chat template, question and answer. */
const RESERVED = 128;
/** Share of a text before its needles: from 4,096 tokens up none lies in the window. */
const DEPTHS = [0.05, 0.2, 0.4, 0.6, 0.8];

/** Units that may be too long for what is left before the text counts as full. */
const MOST_MISSES = 20;

/** By text: the tasks whose questions are asked of it. */
export const TEXTS = {
  noise: ['single-noise', 'variables'],
  essay: ['single-essay', 'multi-key', 'multi-value'],
  keys: ['distractors'],
  words: ['common-words'],
  code: ['code'],
};
export const TASKS = Object.values(TEXTS).flat();

/**
 * A text of about `length` tokens with chat template and question, and its questions: { task, depth, question, prefix, wanted }.
 * The answer is the wanted strings, a comma between them, behind the prefix. Depends on its arguments alone.
 */
export function documentOf({ text, length, sample, seed, count }) {
  const random = seeded(`${seed} ${text} ${length} ${sample}`);
  const { units, needles, questions } = makers[text](random);
  return { text: hide(units, needles, length - RESERVED, count), questions };
}

const makers = {
  noise(random) {
    const single = singles(random, 'single-noise');
    const chains = variables(random);
    return {
      units: hay.noise(),
      needles: [...single.needles, ...chains.needles],
      questions: [...single.questions, ...chains.questions],
    };
  },

  essay(random) {
    const parts = [singles(random, 'single-essay'), multiKey(random), multiValue(random)];
    return {
      units: hay.prose(random),
      needles: parts.flatMap(({ needles }) => needles),
      questions: parts.flatMap(({ questions }) => questions),
    };
  },

  keys(random) {
    const names = hay.longNames(random, DEPTHS.length);
    const values = numbers(random, names.length);
    return {
      units: hay.keyLines(random, names),
      needles: names.map((name, i) => ({ depth: DEPTHS[i], text: hay.keyLine(name, values[i]) })),
      questions: names.map((name, i) => ({
        ...{ task: 'distractors', depth: DEPTHS[i], wanted: [values[i]] },
        ...{ question: `What is the number of the ${name}?`, prefix: `The number of the ${name} is` },
      })),
    };
  },

  words(random) {
    const common = hay.wordsOf(random, 3).map((word, i) => ({ word, share: [0.16, 0.1, 0.06][i] }));
    return {
      units: hay.words(random, common),
      needles: [],
      questions: [
        {
          ...{ task: 'common-words', depth: null, wanted: common.map(({ word }) => word) },
          question: 'Which three words come most often in this list, the most frequent first?',
          prefix: 'The three words that come most often are',
        },
      ],
    };
  },

  code(random) {
    const values = numbers(random, DEPTHS.length);
    const functions = draw(random, constants, DEPTHS.length);
    return {
      units: hay.code(random),
      needles: functions.map((name, i) => ({
        depth: DEPTHS[i],
        text: `function ${name}() {\n    return ${values[i]};\n}\n\n`,
      })),
      questions: functions.map((name, i) => ({
        ...{ task: 'code', depth: DEPTHS[i], wanted: [values[i]] },
        ...{ question: `What number does the function ${name}() return?`, prefix: `The function ${name}() returns` },
      })),
    };
  },
};

const constants =
  'retryLimit pageSize cacheEntries portNumber timeoutMillis bufferBytes maxVisitors queueDepth pollInterval batchSize'.split(
    ' ',
  );

/** Sentences of which a text has one each. Needle, question and the answer's beginning for a number. */
const facts = [
  [n => `The pass key is ${n}.`, 'What is the pass key?', 'The pass key is'],
  [n => `The lighthouse is ${n} steps from the inn.`, 'How far is the lighthouse?', 'The lighthouse is'],
  [n => `The painting was sold for ${n} crowns.`, 'What was the painting sold for?', 'The painting was sold for'],
  [n => `The museum owns ${n} coins.`, 'How many coins does the museum own?', 'The museum owns'],
  [n => `The ship was built with ${n} nails.`, 'How many nails was the ship built with?', 'The ship was built with'],
];

function singles(random, task) {
  const values = numbers(random, DEPTHS.length);
  const order = draw(random, facts, DEPTHS.length);
  return {
    needles: order.map(([sentence], i) => ({ depth: DEPTHS[i], text: `${sentence(values[i])} ` })),
    questions: order.map(([, question, prefix], i) => ({
      task,
      depth: DEPTHS[i],
      question,
      prefix,
      wanted: [values[i]],
    })),
  };
}

/** Five sentences alike but for name and number; each is asked for. */
function multiKey(random) {
  const names = hay.names(random, DEPTHS.length);
  const values = numbers(random, names.length);
  return {
    needles: names.map((name, i) => ({ depth: DEPTHS[i] - 0.03, text: `The ticket of the ${name} is ${values[i]}. ` })),
    questions: names.map((name, i) => ({
      ...{ task: 'multi-key', depth: DEPTHS[i], wanted: [values[i]] },
      ...{ question: `What is the ticket of the ${name}?`, prefix: `The ticket of the ${name} is` },
    })),
  };
}

/** Two names with three numbers each, spread over the text. */
function multiValue(random) {
  const names = hay.names(random, 2);
  const values = names.map(() => numbers(random, 3));
  return {
    needles: names.flatMap((name, i) =>
      values[i].map((value, j) => ({
        depth: 0.1 + 0.3 * j + 0.08 * i,
        text: `One of the prizes for the ${name} is ${value}. `,
      })),
    ),
    questions: names.map((name, i) => ({
      ...{ task: 'multi-value', depth: null, wanted: values[i] },
      ...{ question: `What are all the prizes for the ${name}?`, prefix: `The prizes for the ${name} are` },
    })),
  };
}

/** Two chains of four names, each of which is set to the one before it. */
function variables(random) {
  const letters = () => Array.from({ length: 3 }, () => String.fromCharCode(65 + Math.floor(random() * 26))).join('');
  const names = new Set();
  while (names.size < 8) names.add(letters());
  const all = [...names];
  const values = numbers(random, 2);
  const chains = values.map((value, i) => ({ value, chain: all.slice(4 * i, 4 * i + 4) }));
  return {
    needles: chains.flatMap(({ value, chain }, i) =>
      chain.map((name, j) => ({
        depth: 0.1 + 0.2 * j + 0.07 * i,
        text: `Set ${name} to ${j === 0 ? value : `the value of ${chain[j - 1]}`}. `,
      })),
    ),
    questions: chains.map(({ value, chain }) => ({
      ...{ task: 'variables', depth: null, wanted: chain },
      ...{ question: `Which names were set to ${value}?`, prefix: `The names that were set to ${value} are` },
    })),
  };
}

/** Units until the text has `length` tokens with the needles, each needle where its share of the tokens is before it. */
function hide(units, needles, length, count) {
  const waiting = [...needles].sort((a, b) => a.depth - b.depth);
  const parts = [];
  // A space at the end becomes a part of the next word.
  const tokensOf = text => count(text.replace(/ $/, ''));
  let left = length - waiting.reduce((sum, { text }) => sum + tokensOf(text), 0);
  const room = left;
  for (let misses = 0; misses < MOST_MISSES;) {
    while (waiting.length > 0 && waiting[0].depth * room <= room - left) parts.push(waiting.shift().text);
    const { value } = units.next();
    const tokens = tokensOf(value);
    if (tokens > left) {
      misses++;
      continue;
    }
    parts.push(value);
    left -= tokens;
  }
  for (const { text } of waiting) parts.push(text);
  return parts.join('').trimEnd();
}
