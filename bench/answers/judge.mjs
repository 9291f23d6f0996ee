// What an answer is worth: whether the right place was recalled, shown to the model and cited, whether the wanted words are there,
// whether it says that it does not know, and which files it made up. Pure: no model, no disk.
import { hasWord } from './set.mjs';

/** Sentences by which the product, or the model in its own words, says that the answer may not be there. */
const saysSo = [
  /^Nothing was found/m,
  /The answer names no place that holds/,
  /The model wrote no sentence that rests on the places recalled/,
  /No word of the question stands in the places recalled/,
  /\b(?:does|do|did|is|are|was|were) not (?:contain|mention|say|show|provide|specify|specified|mentioned|found|shown)\b/i,
  /\b(?:doesn't|don't|isn't|aren't) (?:contain|mention|say|show|provide|specify|specified|mentioned|found|shown)\b/i,
  /\bno (?:information|mention|answer)\b/i,
];

const struckOut = /~~[^~]*~~(?: \([^)]*\))?/g;
const address = /\bhttps?:\/\/\S+/g;
const citation = /`?[\w@./()[\]$-]+:\d+(?:-\d+)?`?/g;
const fileName =
  /(?<![\w/.-])(?:[\w@.-]+\/)*[\w@-][\w@.-]*\.(?:pyi?|tsx?|[cm]?js|go|rs|json|toml|md|ya?ml|txt|html|css|sh|cfg|ini)\b/g;

export function overlaps(a, b) {
  return a.path === b.path && a.startLine <= b.endLine && b.startLine <= a.endLine;
}

/** 1 for the first of the places that overlaps a right one; undefined where none does. */
export function rankOf(places, right) {
  const at = places.findIndex(place => right.some(one => overlaps(one, place)));
  return at < 0 ? undefined : at + 1;
}

/** What recall alone gives: `shown` are the places that fit into the prompt. */
export function judgedRecall({ places }, recalled, shown) {
  return {
    rank: rankOf(recalled, places),
    shownRank: rankOf(shown, places),
    shownLines: shown.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0),
    shown: shown.length,
  };
}

/** `texts`: path to text of every file that was read. */
export function judgedAnswer({ places, words }, { answer, citations, unknownNames = [], timing }, texts) {
  const cited = citations.filter(({ ok }) => ok);
  const said = withoutCoverage(answer);
  const claims = said.replace(struckOut, '').replace(citation, '');
  return {
    cited: cited.length,
    citedRight: cited.filter(place => places.some(one => overlaps(one, place))).length,
    struckOut: citations.length - cited.length,
    namesStruckOut: unknownNames.length,
    hasWord: words.length === 0 ? undefined : words.some(word => hasWord(claims, word)),
    saysSo: cited.length === 0 || saysSo.some(pattern => pattern.test(said)),
    madeUp: madeUpFiles(said, cited, texts),
    seconds: timing.totalMs / 1000,
    firstSeconds: timing.firstTokenMs / 1000,
  };
}

/** The last paragraph is the product's own: how much was read. */
function withoutCoverage(answer) {
  return answer.split('\n\n').slice(0, -1).join('\n\n');
}

/** Files cited as good, or named in passing, that are neither in the repository nor named in any of its texts. */
function madeUpFiles(said, cited, texts) {
  const files = [...texts.keys()];
  const isKnown = name => {
    const tail = name.replace(/^(?:\.{0,2}\/)+/, '');
    return (
      files.some(path => path === tail || path.endsWith(`/${tail}`)) ||
      tail.toLowerCase() === 'node.js' ||
      [...texts.values()].some(text => text.includes(tail))
    );
  };
  const named = said.replace(struckOut, '').replace(address, '').match(fileName) ?? [];
  const missing = cited.map(({ path }) => path).filter(path => !texts.has(path));
  return [...new Set([...missing, ...named.filter(name => !isKnown(name))])];
}
