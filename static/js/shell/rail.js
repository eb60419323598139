/* Where one is stays in sight in the navigation, however long it is. */
const showPlace = () => document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest" });

document.getElementById("rail")?.addEventListener("toggle", showPlace);
showPlace();
