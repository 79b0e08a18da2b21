// Places in the data of a page: 'task.tree' is the tree of its task.

export const at = (data, path) => path.split('.').reduce((value, name) => value?.[name], data);

/** A copy of the data with another value at the place. */
export function put(data, path, value) {
  const [name, ...rest] = path.split('.');
  return { ...data, [name]: rest.length ? put(data[name], rest.join('.'), value) : value };
}
