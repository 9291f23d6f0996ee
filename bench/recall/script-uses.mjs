// Uses of names in TypeScript and JavaScript whose definition the language service finds in another file of the folder, and all
// definitions by name: the items of the service's own outline of each file.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';

/** What an outline lists that defines nothing that other files can name. */
const notDefinitions = new Set(['alias', 'module', 'script', 'directory', 'external module name', 'constructor', '']);

export function scriptUses(folder, paths) {
  const files = paths.map(path => join(folder, path));
  const service = ts.createLanguageService(hostOf(folder, files));
  const program = service.getProgram();
  const within = file => relative(folder, file).split(sep).join('/');
  const lineOf = (file, offset) => program.getSourceFile(file).getLineAndCharacterOfPosition(offset);
  const uses = [];
  const definitions = [];
  for (const file of files) {
    const source = program.getSourceFile(file);
    const path = within(file);
    for (const { name, offset } of outlineOf(service.getNavigationTree(file))) {
      if (!passesOn(identifierAt(source, offset))) {
        definitions.push({ name, path, line: lineOf(file, offset).line + 1 });
      }
    }
    const visit = node => {
      if (ts.isIdentifier(node) && !ts.findAncestor(node, ts.isImportDeclaration) && !passesOn(node)) {
        const start = node.getStart(source);
        const target = definitionOf(service, program, file, start, node.text);
        if (target && files.includes(target.fileName) && target.fileName !== file) {
          const { line, character } = lineOf(file, start);
          const { fileName, textSpan } = target;
          const right = { path: within(fileName), line: lineOf(fileName, textSpan.start).line + 1 };
          uses.push({ path, line: line + 1, column: character, name: node.text, right });
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  service.dispose();
  return { uses, definitions };
}

/** The only definition of that name, through names that only pass it on (`module.exports = { name }`). */
function definitionOf(service, program, file, offset, name) {
  let at = { fileName: file, textSpan: { start: offset } };
  for (let hops = 0; hops < 5; hops++) {
    const found = service.getDefinitionAtPosition(at.fileName, at.textSpan.start) ?? [];
    const others = found.filter(
      one => one.name === name && !(one.fileName === at.fileName && one.textSpan.start === at.textSpan.start),
    );
    if (others.length !== 1) return undefined;
    [at] = others;
    const source = program.getSourceFile(at.fileName);
    if (!source || !passesOn(identifierAt(source, at.textSpan.start))) return at;
  }
  return undefined;
}

function identifierAt(source, offset) {
  const search = node =>
    ts.forEachChild(node, child => (child.pos <= offset && offset < child.end ? child : undefined));
  let node = source;
  for (let inner = search(node); inner; inner = search(node)) node = inner;
  return node;
}

/** Whether a name stands for what is defined elsewhere: in `{ name }` of an object or a pattern, or of a module required. */
function passesOn(node) {
  const { parent } = node;
  if (!parent) return false;
  if (ts.isShorthandPropertyAssignment(parent) || ts.isExportSpecifier(parent)) return true;
  if (ts.isBindingElement(parent)) return true;
  const value = ts.isVariableDeclaration(parent) && parent.name === node ? parent.initializer : undefined;
  return value !== undefined && /^require\(/.test(value.getText());
}

function* outlineOf({ text, kind, nameSpan, spans, childItems = [] }) {
  if (!notDefinitions.has(kind)) yield { name: text.replace(/^#|["']/g, ''), offset: (nameSpan ?? spans[0]).start };
  for (const child of childItems) yield* outlineOf(child);
}

function hostOf(folder, files) {
  const settings = {
    allowJs: true,
    strict: false,
    noLib: true,
    allowImportingTsExtensions: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  return {
    getScriptFileNames: () => files,
    getScriptVersion: () => '1',
    getScriptSnapshot: file =>
      existsSync(file) ? ts.ScriptSnapshot.fromString(readFileSync(file, 'utf8')) : undefined,
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => settings,
    getDefaultLibFileName: options => ts.getDefaultLibFilePath(options),
    fileExists: existsSync,
    readFile: file => readFileSync(file, 'utf8'),
  };
}
