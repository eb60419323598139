/* What cannot be chosen can be reached and read; the server would refuse it. */
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.matches('input[aria-disabled="true"]')) event.preventDefault();
});
