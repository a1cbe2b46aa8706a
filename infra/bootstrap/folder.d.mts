/** Makes a folder and its parents. Throws the system's error with its `code`. */
export function makeFolder(folder: string): void;
