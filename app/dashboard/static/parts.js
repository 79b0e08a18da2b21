// Everything that pages are made of, in one import.

export { agentLink, avatar, hue } from './parts/avatar.js';
export { badge, meta, sessionStatus, status } from './parts/badge.js';
export { bar, gauge } from './parts/bar.js';
export { button, iconButton, linkButton } from './parts/button.js';
export { card, facts, figure } from './parts/card.js';
export { columns, lines } from './parts/chart.js';
export { agentChoices, CHOICES, chosen, everybodyChoices } from './parts/choices.js';
export { copyButton, copyId } from './parts/copy.js';
export { countdown } from './parts/countdown.js';
export { dialog } from './parts/dialog.js';
export { download } from './parts/download.js';
export { empty, skeleton, troubled } from './parts/empty.js';
export { checkbox, field, form, valuesOf } from './parts/field.js';
export { all, filters, filterSelect, filterWords } from './parts/filters.js';
export { actionDialog, closeDialog, formDialog, openDialog } from './parts/form_dialog.js';
export { more, table } from './parts/list.js';
export { range } from './parts/range.js';
export { foldedRich, rich } from './parts/rich.js';
export { followEnd, scrollToEnd } from './parts/scroller.js';
export { fileName, saveServerFile } from './parts/server_file.js';
export { slider } from './parts/slider.js';
export { sparkline } from './parts/sparkline.js';
export { chosenTab, tabs } from './parts/tabs.js';
export { code, foldedProse, prose } from './parts/text.js';
export { time } from './parts/time.js';
export { toast } from './parts/toast.js';
