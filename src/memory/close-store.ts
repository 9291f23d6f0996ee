/** How a store is closed: what was forgotten is gone from the disk after it. Never throws for a store that stays as it is. */
import { messageOf, type Log } from '../base/index.js';
import { compactStore, isMarkedForCompaction, type Store } from './store/index.js';

export async function closeStore(store: Store, log: Log): Promise<void> {
  await store.dispose();
  // Deleted values stay in free pages of the file until it is written anew, which needs it closed everywhere.
  if (!isMarkedForCompaction(store.folder)) return;
  const compacted = await compactStore(store.folder).catch(messageOf);
  if (compacted !== 'compacted') log('info', `The store was not compacted: ${compacted}.`);
}
