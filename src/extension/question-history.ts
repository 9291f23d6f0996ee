/** Questions asked in a workspace, latest first, each once, at most 50: kept in the editor's store for this workspace. */
export interface KeyValueStore {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

const key = 'longview.questions';
const mostQuestions = 50;
const mostCharacters = 2000;

export class QuestionHistory {
  constructor(private readonly store: KeyValueStore) {}

  get all(): readonly string[] {
    const kept = this.store.get(key);
    return Array.isArray(kept) ? kept.filter(question => typeof question === 'string').slice(0, mostQuestions) : [];
  }

  add(question: string): void {
    if (question.length > mostCharacters) return;
    const others = this.all.filter(other => other !== question);
    void this.store.update(key, [question, ...others].slice(0, mostQuestions));
  }

  clear(): void {
    void this.store.update(key, undefined);
  }
}
