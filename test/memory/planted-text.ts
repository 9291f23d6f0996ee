/** Long made-up texts with a sentence in each tenth that stands nowhere else, for tests and measurements. */
import { randomNumbers } from './store-samples.js';

const syllables = 'ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu'.split(
  ' ',
);
const things = 'lantern anchor violin kettle saddle compass barrel mirror ladder basket'.split(' ');
const places = 'harbour chapel orchard quarry tavern windmill cellar granary lighthouse ferry'.split(' ');

export interface PlantedText {
  readonly text: string;
  readonly planted: readonly { readonly question: string; readonly sentence: string; readonly line: number }[];
}

/** About `bytes` of ASCII, the same for the same number: paragraphs of words that mean nothing. */
export function plantedText(bytes: number): PlantedText {
  const random = randomNumbers(bytes);
  const below = (most: number): number => Math.floor(random() * most);
  const word = (): string => Array.from({ length: 1 + below(4) }, () => syllables[below(syllables.length)]!).join('');
  const lines: string[] = [];
  const planted: { question: string; sentence: string; line: number }[] = [];
  let length = 0;
  while (length < bytes) {
    let line = lines.length % 7 === 6 ? '' : `${Array.from({ length: 11 }, word).join(' ')}.`;
    if (line !== '' && planted.length < 10 && length >= ((planted.length + 0.5) * bytes) / 10) {
      const [thing, place] = [things[planted.length]!, places[planted.length]!];
      line = `The old ${thing} was left behind in the ${place}.`;
      planted.push({ question: `Where was the ${thing} left behind?`, sentence: line, line: lines.length + 1 });
    }
    lines.push(line);
    length += line.length + 1;
  }
  return { text: lines.join('\n'), planted };
}
